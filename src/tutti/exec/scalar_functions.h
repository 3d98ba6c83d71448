// The table of element-wise ops: each is a type that holds its row (`op`) and its scalar function, written once over whatever
// a backend's loop holds in V: one element or a vector of them. The families at the end are what backends compile and register.
//
// No include guard, include of others' headers or namespace: a backend includes this file inside a namespace of its own, once for
// each instruction set it compiles for, so that everything below is compiled for that set. `Math` gives the primitives:
//   add, sub, mul        integers wrap                  mul_add(a, b, c)     a * b + c, fused where the hardware can
//   div, sqrt            of floats                      abs, negate          integers wrap; of floats the sign alone changes
//   both, either, one_of, invert                        bitwise and, or, exclusive or, not
//   shift_left, shift_right                             any count (see LeftShift)
//   value(x), infinity() the constant in every lane     larger, smaller      a NaN wins
//   less, less_equal, equal, differs, has_sign          a mask
//   select(mask, a, b)   a where the mask holds, else b
//   at_least(x, low), at_most(x, high)                  x limited; a NaN stays
//   into_exponent(v)     the bits of v moved up so that its lowest bits become the exponent
//   floor, ceil, trunc, round, copy_sign, and the functions of the C library under their own names
//   Lane                 the element's type
// A function that computes a lot says is_heavy, and is given the widest vectors there are.
#ifndef TUTTI_SCALAR_FUNCTION  // what must stand before a function: a CUDA backend says __device__
#define TUTTI_SCALAR_FUNCTION inline
#endif
// The scalar function of an op, as an expression of x, or of a and b.
#define TUTTI_OF_ONE(expression)                                \
  template <class Math, class V>                                \
  static TUTTI_SCALAR_FUNCTION auto apply(const Math& m, V x) { \
    return expression;                                          \
  }
#define TUTTI_OF_TWO(expression)                                     \
  template <class Math, class V>                                     \
  static TUTTI_SCALAR_FUNCTION auto apply(const Math& m, V a, V b) { \
    return expression;                                               \
  }

#include "tutti/exec/scalar_arithmetic.h"
#include "tutti/exec/scalar_comparison.h"
#include "tutti/exec/scalar_division.h"
#include "tutti/exec/scalar_exponential.h"

#include "tutti/exec/scalar_activation.h"  // uses those above

#undef TUTTI_OF_ONE
#undef TUTTI_OF_TWO

using Arithmetic = ScalarOps<2, Add, Multiply, Subtract, Divide>;
using Extremes = ScalarOps<2, Maximum, Minimum>;
using Limits = ScalarOps<3, Clip>;
using Signs = ScalarOps<1, Abs, Negative, Sign>;
using Roots = ScalarOps<1, Square, Sqrt>;
using SignsOfOthers = ScalarOps<2, CopySign>;
using Roundings = ScalarOps<1, Floor, Ceil, Trunc, Round>;
using Equalities = ScalarOps<2, Equal, NotEqual>;
using Orders = ScalarOps<2, Less, LessEqual>;
using Tests = ScalarOps<1, IsNan, IsInf, IsFinite, SignBit>;
using Bits = ScalarOps<2, LogicalAnd, LogicalOr, BitwiseAnd, BitwiseOr, BitwiseXor>;
using Shifts = ScalarOps<2, LeftShift, RightShift>;
using Complements = ScalarOps<1, LogicalNot, Invert>;
using Divisions = ScalarOps<2, FloorDivide, Remainder, Power>;
using Exponentials = ScalarOps<1, Exp, Expm1>;
using Logarithms = ScalarOps<1, Log, Log1p, Log2, Log10>;
using Distances = ScalarOps<2, Hypot, LogAddExp>;
using Hyperbolics = ScalarOps<1, Sinh, Cosh, Tanh>;
using InverseHyperbolics = ScalarOps<1, Asinh, Acosh, Atanh>;
using Circulars = ScalarOps<1, Sin, Cos, Tan>;
using InverseCirculars = ScalarOps<1, Asin, Acos, Atan>;
using Angles = ScalarOps<2, Atan2>;
using Rectifiers = ScalarOps<1, Relu>;
using Activations = ScalarOps<1, Erf, Sigmoid, Silu, Gelu, GeluTanh>;
