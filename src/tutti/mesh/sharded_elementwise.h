// The element-wise functions of elementwise.h, math.h, comparison.h and activation.h for sharded tensors: the same names, a row
// each. Any other goes through `elementwise` of sharded_ops.h.
#pragma once

#include "tutti/mesh/sharded_ops.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/math.h"

namespace tutti {

#define TUTTI_SHARDED(function)                                                               \
  inline ShardedTensor function(const ShardedTensor& x, Site site = {}) {                     \
    return elementwise(#function, static_cast<UnaryOp>(function), ShardedArg(x, site), site); \
  }
TUTTI_SHARDED(abs)
TUTTI_SHARDED(negative)
TUTTI_SHARDED(sign)
TUTTI_SHARDED(square)
TUTTI_SHARDED(sqrt)
TUTTI_SHARDED(floor)
TUTTI_SHARDED(ceil)
TUTTI_SHARDED(round)
TUTTI_SHARDED(exp)
TUTTI_SHARDED(log)
TUTTI_SHARDED(sin)
TUTTI_SHARDED(cos)
TUTTI_SHARDED(tanh)
TUTTI_SHARDED(erf)
TUTTI_SHARDED(relu)
TUTTI_SHARDED(sigmoid)
TUTTI_SHARDED(silu)
TUTTI_SHARDED(isnan)
TUTTI_SHARDED(isfinite)
TUTTI_SHARDED(logical_not)
#undef TUTTI_SHARDED

// Of two tensors, or of a tensor and a number.
#define TUTTI_SHARDED(function)                                                                   \
  inline ShardedTensor function(const ShardedTensor& a, const ShardedTensor& b, Site site = {}) { \
    return elementwise(#function, static_cast<BinaryOp>(function), {a, site}, {b, site}, site);   \
  }                                                                                               \
  inline ShardedTensor function(const ShardedTensor& a, NumberArg b, Site site = {}) {            \
    return elementwise(#function, static_cast<BinaryOp>(function), {a, site}, {b, site}, site);   \
  }                                                                                               \
  inline ShardedTensor function(NumberArg a, const ShardedTensor& b, Site site = {}) {            \
    return elementwise(#function, static_cast<BinaryOp>(function), {a, site}, {b, site}, site);   \
  }
TUTTI_SHARDED(add)
TUTTI_SHARDED(subtract)
TUTTI_SHARDED(multiply)
TUTTI_SHARDED(divide)
TUTTI_SHARDED(floor_divide)
TUTTI_SHARDED(remainder)
TUTTI_SHARDED(pow)
TUTTI_SHARDED(maximum)
TUTTI_SHARDED(minimum)
TUTTI_SHARDED(equal)
TUTTI_SHARDED(not_equal)
TUTTI_SHARDED(less)
TUTTI_SHARDED(less_equal)
TUTTI_SHARDED(greater)
TUTTI_SHARDED(greater_equal)
TUTTI_SHARDED(logical_and)
TUTTI_SHARDED(logical_or)
#undef TUTTI_SHARDED

inline ShardedTensor where(const ShardedTensor& condition, const ShardedTensor& a, const ShardedTensor& b, Site site = {}) {
  return elementwise("where", static_cast<TernaryOp>(where), {condition, site}, {a, site}, {b, site}, site);
}

#define TUTTI_OPERATOR(sign, function)                                                          \
  inline ShardedTensor operator sign(ShardedArg a, ShardedArg b) {                              \
    return elementwise(#function, static_cast<BinaryOp>(function), a, b, a.site());             \
  }                                                                                             \
  inline ShardedTensor operator sign(ShardedArg a, NumberArg b) {                               \
    return elementwise(#function, static_cast<BinaryOp>(function), a, {b, a.site()}, a.site()); \
  }                                                                                             \
  inline ShardedTensor operator sign(NumberArg a, ShardedArg b) {                               \
    return elementwise(#function, static_cast<BinaryOp>(function), {a, b.site()}, b, b.site()); \
  }
TUTTI_OPERATOR(+, add)
TUTTI_OPERATOR(-, subtract)
TUTTI_OPERATOR(*, multiply)
TUTTI_OPERATOR(/, divide)
TUTTI_OPERATOR(<, less)
TUTTI_OPERATOR(<=, less_equal)
TUTTI_OPERATOR(>, greater)
TUTTI_OPERATOR(>=, greater_equal)
#undef TUTTI_OPERATOR
// What stands to the right of an assignment: also a number, with its line.
class AssignedArg : public ShardedArg {
 public:
  AssignedArg(const ShardedTensor& tensor, Site site = {}) : ShardedArg(tensor, site) {}
  template <Number T>
  AssignedArg(T value, Site site = {}) : ShardedArg(NumberArg(value), site) {}
};
#define TUTTI_OPERATOR(sign, function)                                                              \
  inline ShardedTensor& operator sign(ShardedTensor& a, AssignedArg b) {                            \
    return a = elementwise(#function, static_cast<BinaryOp>(function), {a, b.site()}, b, b.site()); \
  }
TUTTI_OPERATOR(+=, add)
TUTTI_OPERATOR(-=, subtract)
TUTTI_OPERATOR(*=, multiply)
TUTTI_OPERATOR(/=, divide)
TUTTI_OPERATOR(%=, remainder)
#undef TUTTI_OPERATOR
inline ShardedTensor operator-(ShardedArg x) { return elementwise("negative", static_cast<UnaryOp>(negative), x, x.site()); }

}  // namespace tutti
