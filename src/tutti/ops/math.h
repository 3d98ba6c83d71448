// Functions of the C library, element by element. Floating dtypes only; broadcasting and promotion as in elementwise.h.
#pragma once

#include "tutti/ops/tensor_arg.h"

namespace tutti {

Tensor exp(TensorArg x, Site site = {});
Tensor expm1(TensorArg x, Site site = {});
Tensor log(TensorArg x, Site site = {});
Tensor log1p(TensorArg x, Site site = {});
Tensor log2(TensorArg x, Site site = {});
Tensor log10(TensorArg x, Site site = {});
// log(e^a + e^b), without overflow on the way.
Tensor logaddexp(TensorArg a, TensorArg b, Site site = {});

Tensor sin(TensorArg x, Site site = {});
Tensor cos(TensorArg x, Site site = {});
Tensor tan(TensorArg x, Site site = {});
Tensor asin(TensorArg x, Site site = {});
Tensor acos(TensorArg x, Site site = {});
Tensor atan(TensorArg x, Site site = {});
// The angle of the point (x, y), from -pi to pi.
Tensor atan2(TensorArg y, TensorArg x, Site site = {});
// The square root of a^2 + b^2, without overflow on the way.
Tensor hypot(TensorArg a, TensorArg b, Site site = {});

Tensor sinh(TensorArg x, Site site = {});
Tensor cosh(TensorArg x, Site site = {});
Tensor tanh(TensorArg x, Site site = {});
Tensor asinh(TensorArg x, Site site = {});
Tensor acosh(TensorArg x, Site site = {});
Tensor atanh(TensorArg x, Site site = {});

Tensor erf(TensorArg x, Site site = {});

}  // namespace tutti
