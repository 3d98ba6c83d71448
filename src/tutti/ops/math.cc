#include "tutti/ops/math.h"

#include "tutti/ops/scalar_call.h"

namespace tutti {

using detail::binary;
using detail::unary;

Tensor exp(TensorArg x, Site site) { return unary<scalar::Exp>(x, site); }
Tensor expm1(TensorArg x, Site site) { return unary<scalar::Expm1>(x, site); }
Tensor log(TensorArg x, Site site) { return unary<scalar::Log>(x, site); }
Tensor log1p(TensorArg x, Site site) { return unary<scalar::Log1p>(x, site); }
Tensor log2(TensorArg x, Site site) { return unary<scalar::Log2>(x, site); }
Tensor log10(TensorArg x, Site site) { return unary<scalar::Log10>(x, site); }
Tensor logaddexp(TensorArg a, TensorArg b, Site site) { return binary<scalar::LogAddExp>(a, b, site); }

Tensor sin(TensorArg x, Site site) { return unary<scalar::Sin>(x, site); }
Tensor cos(TensorArg x, Site site) { return unary<scalar::Cos>(x, site); }
Tensor tan(TensorArg x, Site site) { return unary<scalar::Tan>(x, site); }
Tensor asin(TensorArg x, Site site) { return unary<scalar::Asin>(x, site); }
Tensor acos(TensorArg x, Site site) { return unary<scalar::Acos>(x, site); }
Tensor atan(TensorArg x, Site site) { return unary<scalar::Atan>(x, site); }
Tensor atan2(TensorArg y, TensorArg x, Site site) { return binary<scalar::Atan2>(y, x, site); }
Tensor hypot(TensorArg a, TensorArg b, Site site) { return binary<scalar::Hypot>(a, b, site); }

Tensor sinh(TensorArg x, Site site) { return unary<scalar::Sinh>(x, site); }
Tensor cosh(TensorArg x, Site site) { return unary<scalar::Cosh>(x, site); }
Tensor tanh(TensorArg x, Site site) { return unary<scalar::Tanh>(x, site); }
Tensor asinh(TensorArg x, Site site) { return unary<scalar::Asinh>(x, site); }
Tensor acosh(TensorArg x, Site site) { return unary<scalar::Acosh>(x, site); }
Tensor atanh(TensorArg x, Site site) { return unary<scalar::Atanh>(x, site); }
Tensor erf(TensorArg x, Site site) { return unary<scalar::Erf>(x, site); }

}  // namespace tutti
