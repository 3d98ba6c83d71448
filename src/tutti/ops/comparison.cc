#include "tutti/ops/comparison.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

using detail::binary;
using detail::unary;

Tensor equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::Equal>(a, b, site); }
Tensor not_equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::NotEqual>(a, b, site); }
Tensor less(TensorArg a, TensorArg b, Site site) { return binary<scalar::Less>(a, b, site); }
Tensor less_equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::LessEqual>(a, b, site); }
Tensor greater(TensorArg a, TensorArg b, Site site) { return binary<scalar::Less>(b, a, site); }
Tensor greater_equal(TensorArg a, TensorArg b, Site site) { return binary<scalar::LessEqual>(b, a, site); }

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

Tensor logical_and(TensorArg a, TensorArg b, Site site) { return binary<scalar::LogicalAnd>(a, b, site); }
Tensor logical_or(TensorArg a, TensorArg b, Site site) { return binary<scalar::LogicalOr>(a, b, site); }
Tensor logical_xor(TensorArg a, TensorArg b, Site site) {
  const DType dtype = detail::common_dtype({&a, &b}, site);
  if (dtype != DType::boolean) {
    throw DTypeError(text("logical_xor takes bool; the dtype is ", to_string(dtype), ". Compare with 0 first: not_equal(x, 0)"),
                     site);
  }
  return binary<scalar::BitwiseXor>(a, b, site);
}
Tensor logical_not(TensorArg x, Site site) { return unary<scalar::LogicalNot>(x, site); }

Tensor bitwise_and(TensorArg a, TensorArg b, Site site) { return binary<scalar::BitwiseAnd>(a, b, site); }
Tensor bitwise_or(TensorArg a, TensorArg b, Site site) { return binary<scalar::BitwiseOr>(a, b, site); }
Tensor bitwise_xor(TensorArg a, TensorArg b, Site site) { return binary<scalar::BitwiseXor>(a, b, site); }
Tensor bitwise_invert(TensorArg x, Site site) { return unary<scalar::Invert>(x, site); }
Tensor bitwise_left_shift(TensorArg a, TensorArg b, Site site) { return binary<scalar::LeftShift>(a, b, site); }
Tensor bitwise_right_shift(TensorArg a, TensorArg b, Site site) { return binary<scalar::RightShift>(a, b, site); }

}  // namespace tutti
