// A Variable: the mutable cell. Reading gives a snapshot; assignments are atomic and ordered.
#pragma once

#include <memory>
#include <string>

#include "tutti/ops/tensor_arg.h"

namespace tutti {

class VariableCell;

// Shape, dtype and device are those of the first value and stay. A snapshot never changes: an assignment writes in
// place when no snapshot is alive, else into memory of its own. Copies are the same variable: a layer, its optimizer and a
// checkpoint share one. It is taken wherever a tensor is, for its value at that moment.
class Variable {
 public:
  // On the device of the value, or of the scope around the call.
  explicit Variable(const Tensor& initial, Site site = {});

  // Like every member: InvalidArgument for one that was moved from.
  [[nodiscard]] const Shape& shape(Site site = {}) const;
  [[nodiscard]] DType dtype(Site site = {}) const;
  [[nodiscard]] const std::string& device(Site site = {}) const;

  // A variable that is not trainable is left out where gradients are taken of all that a model holds. All are to begin with.
  [[nodiscard]] bool is_trainable(Site site = {}) const;
  void set_trainable(bool trainable, Site site = {}) const;

  [[nodiscard]] Tensor value(Site site = {}) const;
  // The value is broadcast to the shape and must have the dtype; numbers take it.
  void assign(TensorArg value, Site site = {}) const;
  // The same, but the value's dtype need only promote to the variable's.
  void assign_add(TensorArg delta, Site site = {}) const;

  [[nodiscard]] const std::shared_ptr<VariableCell>& cell() const noexcept { return cell_; }

 private:
  [[nodiscard]] VariableCell& checked(Site site) const;
  std::shared_ptr<VariableCell> cell_;
};

}  // namespace tutti
