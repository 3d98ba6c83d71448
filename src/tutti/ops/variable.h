// A Variable: the mutable cell. Reading gives a snapshot; assignments are atomic and ordered.
#pragma once

#include <memory>
#include <string>

#include "tutti/ops/tensor_arg.h"

namespace tutti {

// Shape, dtype and device are those of the first value and stay. A snapshot never changes: an assignment writes in
// place when no snapshot is alive, else into memory of its own.
class Variable {
 public:
  // On the device of the value, or of the scope around the call.
  explicit Variable(const Tensor& initial, Site site = {});
  Variable(Variable&&) noexcept = default;
  Variable& operator=(Variable&&) noexcept = default;
  ~Variable();

  [[nodiscard]] const Shape& shape() const noexcept;
  [[nodiscard]] DType dtype() const noexcept;
  [[nodiscard]] const std::string& device() const noexcept;

  [[nodiscard]] Tensor value(Site site = {}) const;
  // The value is broadcast to the shape and must have the dtype; numbers take it.
  void assign(TensorArg value, Site site = {});
  void assign_add(TensorArg delta, Site site = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti
