// Moving bytes between devices, the host among them: ordered by points, without a host sync, staged where the hardware needs it.
#pragma once

#include "tutti/place/runtime.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// A copy of the tensor on that device, dense. The same tensor if it is there already and dense. `input` names which input of
// which op it is for; -1: the caller asked for it.
Tensor copy_to_device(const Tensor& x, LogicalDevice& to, const char* for_op, int input, Site site);

// The same, but always memory of its own; nothing is kept for later.
Tensor fresh_copy(const Tensor& x, LogicalDevice& to, Site site);

// A copy on the CPU, in memory that `by` copies from and to by itself; in ordinary memory where it takes any.
Tensor pinned_copy(const Tensor& x, LogicalDevice& by, Site site);

// Overwrites the target's elements in place with the value's, broadcast to its shape; same dtype. Ordered after every
// use of the target.
void overwrite(const Tensor& target, const Tensor& value, Site site);

// A tensor with these host bytes, on the device an op without a kernel preference would go to (scope or automatic). The bytes
// are read before this returns.
Tensor upload(const char* op, DType dtype, const Shape& shape, const void* bytes, Site site);

// Number of bytes of a dense tensor; throws ShapeError for negative sizes and what no machine can hold.
std::size_t checked_bytes(DType dtype, const Shape& shape, Site site);

// The tensor's value has failed: throws it. To be asked after its point is done.
void raise_failure(const Tensor& x);

namespace detail {
// Throws InvalidState where the calling thread is running a kernel.
void refuse_inside_kernel(const char* op, Site site);
}  // namespace detail

}  // namespace tutti
