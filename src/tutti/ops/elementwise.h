// Element-wise ops: broadcasting, promotion, numbers as operands, memory of given-away arguments reused.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tutti/ops/tensor_arg.h"

namespace tutti {

// Integers wrap. Of bools, add is "or" and multiply is "and".
Tensor add(TensorArg a, TensorArg b, Site site = {});
Tensor subtract(TensorArg a, TensorArg b, Site site = {});
Tensor multiply(TensorArg a, TensorArg b, Site site = {});
// Floating dtypes only: what integers should give is for the caller to say, by cast or floor_divide.
Tensor divide(TensorArg a, TensorArg b, Site site = {});
// The largest whole number not above a / b. A result with integers divided by 0 fails.
Tensor floor_divide(TensorArg a, TensorArg b, Site site = {});
// a - b * floor_divide(a, b): the sign is that of b. A result with integers divided by 0 fails.
Tensor remainder(TensorArg a, TensorArg b, Site site = {});
// a to the power b. A result with an integer to a negative power fails.
Tensor pow(TensorArg a, TensorArg b, Site site = {});
// NaN wins.
Tensor maximum(TensorArg a, TensorArg b, Site site = {});
Tensor minimum(TensorArg a, TensorArg b, Site site = {});
// x limited to what lies between the bounds; an absent bound does not limit. The upper bound wins over the lower one.
Tensor clip(TensorArg x, std::optional<TensorArg> min, std::optional<TensorArg> max = {}, Site site = {});

// The smallest signed integer stays as it is.
Tensor abs(TensorArg x, Site site = {});
Tensor negative(TensorArg x, Site site = {});
// x itself.
Tensor positive(TensorArg x, Site site = {});
// -1, 0 or 1; NaN stays.
Tensor sign(TensorArg x, Site site = {});
// x times x.
Tensor square(TensorArg x, Site site = {});
// Floating dtypes only, as all below but where integers are mentioned.
Tensor sqrt(TensorArg x, Site site = {});
// The size of a with the sign of b.
Tensor copysign(TensorArg a, TensorArg b, Site site = {});
// Integers are whole already: x itself. Halves round to the even neighbour.
Tensor floor(TensorArg x, Site site = {});
Tensor ceil(TensorArg x, Site site = {});
Tensor trunc(TensorArg x, Site site = {});
Tensor round(TensorArg x, Site site = {});

// Element of a where the condition holds, else of b. Decides on the device.
Tensor where(TensorArg condition, TensorArg a, TensorArg b, Site site = {});
// The sum of one or more tensors of one shape and dtype, in one pass.
Tensor add_n(std::span<const Tensor> tensors, Site site = {});
inline Tensor add_n(const std::vector<Tensor>& tensors, Site site = {}) { return add_n(std::span(tensors), site); }

// The same tensor if it has the dtype already. Floats to integers cut off the fraction and stay within range.
Tensor cast(const Tensor& x, DType dtype, Site site = {});

namespace detail {
// The line that an operator stands in.
inline Site site_of(const TensorArg& a, const TensorArg& b) noexcept { return a.is_number() ? b.site() : a.site(); }
// a = op(a, b). Where op throws, a stays as it was.
inline Tensor& assign(Tensor& a, const TensorArg& b, Tensor (*op)(TensorArg, TensorArg, Site)) {
  const Site site = b.site();
  const bool is_both = !b.is_number() && &b.tensor() == &a;
  return a = op(is_both ? TensorArg(a, site) : TensorArg(std::move(a), site), b, site);
}
}  // namespace detail

inline Tensor operator+(TensorArg a, TensorArg b) { return add(a, b, detail::site_of(a, b)); }
inline Tensor operator-(TensorArg a, TensorArg b) { return subtract(a, b, detail::site_of(a, b)); }
inline Tensor operator*(TensorArg a, TensorArg b) { return multiply(a, b, detail::site_of(a, b)); }
inline Tensor operator/(TensorArg a, TensorArg b) { return divide(a, b, detail::site_of(a, b)); }
inline Tensor operator%(TensorArg a, TensorArg b) { return remainder(a, b, detail::site_of(a, b)); }
inline Tensor operator-(TensorArg x) { return negative(x, x.site()); }
// x becomes x + y, in its own memory where nobody else holds it. Other tensors, views of x too, keep their values.
inline Tensor& operator+=(Tensor& a, TensorArg b) { return detail::assign(a, b, add); }
inline Tensor& operator-=(Tensor& a, TensorArg b) { return detail::assign(a, b, subtract); }
inline Tensor& operator*=(Tensor& a, TensorArg b) { return detail::assign(a, b, multiply); }
inline Tensor& operator/=(Tensor& a, TensorArg b) { return detail::assign(a, b, divide); }
inline Tensor& operator%=(Tensor& a, TensorArg b) { return detail::assign(a, b, remainder); }

}  // namespace tutti
