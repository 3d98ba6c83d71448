// Moving bytes between devices, the host among them: ordered by points, without a host sync, staged where the hardware needs it.
// The rows _Copy (to the device the call is pinned to) and _EagerConst are made of it.
#pragma once

#include "tutti/exec/op_call.h"
#include "tutti/place/placement.h"
#include "tutti/place/runtime.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// A copy of the tensor on that device, dense. The same tensor if it is there already and dense. `input` names which input of
// which op it is for; -1: the caller asked for it.
Tensor copy_to_device(const Tensor& x, LogicalDevice& to, const OpName& for_op, int input, Site site);

// The same, but always memory of its own; nothing is kept for later. `function`: what the program called; null: copy_to.
Tensor fresh_copy(const Tensor& x, LogicalDevice& to, Site site, const char* function = nullptr);

// A copy on the CPU, in memory that `by` copies from and to by itself; in ordinary memory where it takes any.
Tensor pinned_copy(const Tensor& x, LogicalDevice& by, Site site);

// Overwrites the target's elements in place with the value's, broadcast to its shape; same dtype. Ordered after every
// use of the target.
void overwrite(const Tensor& target, const Tensor& value, Site site);

// How a call of _Copy to another device is to be understood; none given: a fresh copy that the program asked for.
struct CopyAttributes {
  const char* for_op = nullptr;  // the op whose input it is, for the log and the copy policy
  std::int64_t input = -1;       // which one; -1: none
  bool if_elsewhere = false;     // x itself, if it is there already
};
// Through dispatch, for code above the runtime that moves tensors between devices.
Tensor copied(const Tensor& x, LogicalDevice& to, const CopyAttributes& attributes, Site site);

// The elements of a constant, in row-major order: the data of a call of _EagerConst, which reads them before it returns.
class HostBytes final : public CallData {
 public:
  explicit HostBytes(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override;

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const std::byte[]> kept_;
};

// Number of bytes of a dense tensor; throws ShapeError, in the name of the function, for negative sizes and what no
// machine can hold.
std::size_t checked_bytes(const char* function, DType dtype, const Shape& shape, Site site);

// The tensor's value has failed: throws it. To be asked after its point is done.
void raise_failure(const Tensor& x);

namespace detail {
// Throws InvalidState where the calling thread is running a kernel.
void refuse_inside_kernel(const char* function, Site site);
}  // namespace detail

}  // namespace tutti
