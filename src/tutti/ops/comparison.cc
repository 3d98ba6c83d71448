#include "tutti/ops/comparison.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

using detail::binary;
using detail::unary;

Tensor equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::Equal>(a, b, site); }
Tensor not_equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::NotEqual>(a, b, site); }
Tensor less(TensorArg a, TensorArg b, Site site) { return binary<scalar::Less>(a, b, site); }
Tensor less_equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::LessEqual>(a, b, site); }
Tensor greater(TensorArg a, TensorArg b, Site site) { return binary<scalar::Less>(b, a, site, {"greater", true}); }
Tensor greater_equal(TensorArg a, TensorArg b, Site site) {
  return binary<scalar::LessEqual>(b, a, site, {"greater_equal", true});
}

namespace {

// No integer differs from itself or is less than itself.
template <class F, class OfIntegers>
Tensor test(TensorArg& x, Site site) {
  if (kind_of(detail::dtype_of_arg(x, site)) != DTypeKind::integer) return unary<F>(x, site);
  TensorArg again = x.is_number() ? x : TensorArg(x.tensor(), site);
  return binary<OfIntegers>(again, x, site);
}

}  // namespace

Tensor isnan(TensorArg x, Site site) { return test<scalar::IsNan, scalar::NotEqual>(x, site); }
Tensor isinf(TensorArg x, Site site) { return test<scalar::IsInf, scalar::NotEqual>(x, site); }
Tensor isfinite(TensorArg x, Site site) { return test<scalar::IsFinite, scalar::Equal>(x, site); }
Tensor signbit(TensorArg x, Site site) { return unary<scalar::SignBit>(x, site); }

namespace {

// As a tensor; a number where the tensor it meets is, which would have to be copied otherwise.
Tensor as_tensor(const TensorArg& x, const TensorArg& other, DType dtype, Site site) {
  if (!x.is_number()) return cast(x.tensor(), dtype, site);
  return detail::filled("full", {}, x, dtype, other.is_number() ? nullptr : &other.tensor(), site);
}

Tensor close(const char* function, const TensorArg& a, const TensorArg& b, const CloseOptions& options, Site site) {
  if (!(options.rtol >= 0) || !(options.atol >= 0)) {
    throw InvalidArgument(
        text(function, ": the tolerances must not be negative; rtol is ", options.rtol, " and atol ", options.atol), site);
  }
  const DType common = detail::common_dtype({&a, &b}, site);
  const DType dtype = is_floating(common) ? promote(common, DType::f32) : DType::f64;  // one that holds the tolerances
  const Tensor x = as_tensor(a, b, dtype, site);
  const Tensor y = as_tensor(b, a, dtype, site);
  const Tensor bound = add(multiply(abs(y, site), options.rtol, site), options.atol, site);
  TensorArg left(x, site);
  TensorArg right(y, site);
  Tensor distance = binary<scalar::Subtract>(left, right, site, {function});
  const Tensor near = logical_and(less_equal(abs(std::move(distance), site), bound, site), isfinite(y, site), site);
  Tensor close = logical_or(near, equal(x, y, site), site);
  return options.equal_nan ? logical_or(std::move(close), logical_and(isnan(x, site), isnan(y, site), site), site) : close;
}

}  // namespace

Tensor isclose(TensorArg a, TensorArg b, const CloseOptions& options, Site site) { return close("isclose", a, b, options, site); }
Tensor allclose(TensorArg a, TensorArg b, const CloseOptions& options, Site site) {
  return all(close("allclose", a, b, options, site), site);
}

Tensor logical_and(TensorArg a, TensorArg b, Site site) { return binary<scalar::LogicalAnd>(a, b, site); }
Tensor logical_or(TensorArg a, TensorArg b, Site site) { return binary<scalar::LogicalOr>(a, b, site); }
Tensor logical_xor(TensorArg a, TensorArg b, Site site) {
  const DType dtype = detail::common_dtype({&a, &b}, site);
  if (dtype != DType::boolean) {
    throw DTypeError(text("logical_xor takes bool; the dtype is ", to_string(dtype), ". Compare with 0 first: not_equal(x, 0)"),
                     site);
  }
  return binary<scalar::BitwiseXor>(a, b, site, {"logical_xor"});
}
Tensor logical_not(TensorArg x, Site site) { return unary<scalar::LogicalNot>(x, site); }

Tensor bitwise_and(TensorArg a, TensorArg b, Site site) { return binary<scalar::BitwiseAnd>(a, b, site); }
Tensor bitwise_or(TensorArg a, TensorArg b, Site site) { return binary<scalar::BitwiseOr>(a, b, site); }
Tensor bitwise_xor(TensorArg a, TensorArg b, Site site) { return binary<scalar::BitwiseXor>(a, b, site); }
Tensor bitwise_invert(TensorArg x, Site site) { return unary<scalar::Invert>(x, site); }
Tensor bitwise_left_shift(TensorArg a, TensorArg b, Site site) { return binary<scalar::LeftShift>(a, b, site); }
Tensor bitwise_right_shift(TensorArg a, TensorArg b, Site site) { return binary<scalar::RightShift>(a, b, site); }

}  // namespace tutti
