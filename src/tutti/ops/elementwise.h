// Element-wise ops: broadcasting, promotion, numbers as operands, memory of given-away arguments reused.
#pragma once

#include <span>
#include <vector>

#include "tutti/ops/tensor_arg.h"

namespace tutti {

Tensor add(TensorArg a, TensorArg b, Site site = {});
Tensor mul(TensorArg a, TensorArg b, Site site = {});
// Floating dtypes only.
Tensor exp(TensorArg x, Site site = {});
// max(x, 0); NaN stays.
Tensor relu(TensorArg x, Site site = {});
// Element of a where the condition holds, else of b. Decides on the device.
Tensor where(TensorArg condition, TensorArg a, TensorArg b, Site site = {});
// The sum of one or more tensors of one shape and dtype, in one pass.
Tensor add_n(std::span<const Tensor> tensors, Site site = {});
inline Tensor add_n(const std::vector<Tensor>& tensors, Site site = {}) { return add_n(std::span(tensors), site); }

// The same tensor if it has the dtype already. Floats to integers cut off the fraction and stay within range.
Tensor cast(const Tensor& x, DType dtype, Site site = {});

inline Tensor operator+(TensorArg a, TensorArg b) {
  const Site site = a.is_number() ? b.site() : a.site();
  return add(std::move(a), std::move(b), site);
}
inline Tensor operator*(TensorArg a, TensorArg b) {
  const Site site = a.is_number() ? b.site() : a.site();
  return mul(std::move(a), std::move(b), site);
}

}  // namespace tutti
