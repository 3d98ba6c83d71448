// A Variable: the mutable cell. Reading gives a snapshot; assignments are atomic and ordered.
#pragma once

#include <concepts>
#include <memory>
#include <string>

#include "tutti/ops/tensor_arg.h"
#include "tutti/place/thread_state.h"

namespace tutti {

class VariableCell;

// Shape, dtype and device are those of the first value and stay. A snapshot never changes: an assignment writes in
// place when no snapshot is alive, else into memory of its own; the memory of a value given away becomes the variable's. Copies
// are the same variable: a layer, its optimizer and a checkpoint share one. It is taken wherever a tensor is, for its value at
// that moment. One made in the scope of a MirroredStrategy has a value on each of its devices: in run() the handle means that of
// the replica, elsewhere the first is read and all are assigned.
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

  template <class T>
    requires(std::same_as<T, Tensor> || Number<T>)
  Variable& operator=(const T&) {
    static_assert(sizeof(T) == 0, "write v.assign(x): a variable keeps its place, its value changes");
    return *this;
  }

  // That of the replica the thread is running as; else the only one, or the first.
  [[nodiscard]] const std::shared_ptr<VariableCell>& cell() const noexcept {
    return detail::thread_state.replica == nullptr ? cell_ : replica_cell();
  }

 private:
  [[nodiscard]] const std::shared_ptr<VariableCell>& replica_cell() const noexcept;
  [[nodiscard]] VariableCell& first(Site site) const;
  [[nodiscard]] VariableCell& checked(Site site) const;
  // Calls `each` with every cell that an assignment changes, the first one last.
  template <class Each>
  void assign_cells(const char* what, Site site, Each&& each) const;
  std::shared_ptr<VariableCell> cell_;  // the first, which holds the others
};

}  // namespace tutti
