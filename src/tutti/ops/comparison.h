// Comparisons, tests, truth values and bits, element by element; broadcasting and promotion as in elementwise.h.
#pragma once

#include "tutti/ops/tensor_arg.h"

namespace tutti {

// Bool results. There is no operator ==: it would be taken for a question about the whole, which all(equal(a, b)) asks.
Tensor equal(TensorArg a, TensorArg b, Site site = {});
Tensor not_equal(TensorArg a, TensorArg b, Site site = {});
// Numbers only.
Tensor less(TensorArg a, TensorArg b, Site site = {});
Tensor less_equal(TensorArg a, TensorArg b, Site site = {});
Tensor greater(TensorArg a, TensorArg b, Site site = {});
Tensor greater_equal(TensorArg a, TensorArg b, Site site = {});

// Numbers only; integers are always finite.
Tensor isnan(TensorArg x, Site site = {});
Tensor isinf(TensorArg x, Site site = {});
Tensor isfinite(TensorArg x, Site site = {});
// Floating dtypes only: whether the sign is minus, also of -0 and NaN.
Tensor signbit(TensorArg x, Site site = {});

struct CloseOptions {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;  // two NaNs are close
};
// NumPy's |a - b| <= atol + rtol |b|. Infinities are close to themselves alone. Half precision is compared as float32, what is
// not floating as float64.
Tensor isclose(TensorArg a, TensorArg b, const CloseOptions& options = {}, Site site = {});
// Whether that holds everywhere: one bool on the device. No sync: item<bool>(allclose(a, b)) is what waits.
Tensor allclose(TensorArg a, TensorArg b, const CloseOptions& options = {}, Site site = {});

// Of bools only.
Tensor logical_and(TensorArg a, TensorArg b, Site site = {});
Tensor logical_or(TensorArg a, TensorArg b, Site site = {});
Tensor logical_xor(TensorArg a, TensorArg b, Site site = {});
Tensor logical_not(TensorArg x, Site site = {});

// Of integers and bools.
Tensor bitwise_and(TensorArg a, TensorArg b, Site site = {});
Tensor bitwise_or(TensorArg a, TensorArg b, Site site = {});
Tensor bitwise_xor(TensorArg a, TensorArg b, Site site = {});
Tensor bitwise_invert(TensorArg x, Site site = {});
// Of integers. A count that is negative or not below the number of bits gives 0; to the right, -1 for what is negative.
Tensor bitwise_left_shift(TensorArg a, TensorArg b, Site site = {});
Tensor bitwise_right_shift(TensorArg a, TensorArg b, Site site = {});

#define TUTTI_OPERATOR(sign, function) \
  inline Tensor operator sign(TensorArg a, TensorArg b) { return function(a, b, a.is_number() ? b.site() : a.site()); }
TUTTI_OPERATOR(<, less)
TUTTI_OPERATOR(<=, less_equal)
TUTTI_OPERATOR(>, greater)
TUTTI_OPERATOR(>=, greater_equal)
TUTTI_OPERATOR(&, bitwise_and)
TUTTI_OPERATOR(|, bitwise_or)
TUTTI_OPERATOR(^, bitwise_xor)
#undef TUTTI_OPERATOR
inline Tensor operator~(TensorArg x) { return bitwise_invert(x, x.site()); }

}  // namespace tutti
