// Axes and options of reductions as other libraries take them: as in instead.h, errors with the call to write.
#pragma once

#include <concepts>
#include <cstdint>

#include "tutti/ops/reduction.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

// The body of such a function. `T`: a parameter of its template, so that nothing is said before the call is made.
#define TUTTI_INSTEAD(T, ...)                 \
  static_assert(sizeof(T) == 0, __VA_ARGS__); \
  return {}

namespace detail {
// Options where they do not belong, by their names. Braces with numbers alone make none of it.
struct ByName {};
struct OptionsInstead {
  ByName first = {};
  std::int64_t axis = 0;
  std::int64_t dim = 0;
  double correction = 0;
  double ord = 0;
  bool keepdims = false;
  bool keepdim = false;
  DType dtype = DType::f32;
};
}  // namespace detail

// A second axis without braces, an option without its name, options without axes.
#define TUTTI_REDUCTION(function)                                                                                           \
  template <std::integral A, Number B, class... Others>                                                                     \
  Tensor function(const Tensor&, A, B, Others...) {                                                                         \
    TUTTI_INSTEAD(A, "write " #function "(x, {0, 1}) for two axes, " #function "(x, 0, {.keepdims = true}) for an option"); \
  }                                                                                                                         \
  template <class T = void>                                                                                                 \
  Tensor function(const Tensor&, const detail::OptionsInstead&) {                                                           \
    TUTTI_INSTEAD(T*, "write the axis by itself, and all_axes before options: " #function "(x, 1), " #function              \
                      "(x, all_axes, {.keepdims = true})");                                                                 \
  }                                                                                                                         \
  template <std::same_as<bool> B>                                                                                           \
  Tensor function(const Tensor&, const ReducedAxes&, B) {                                                                   \
    TUTTI_INSTEAD(B, "write " #function "(x, {0, 1}, {.keepdims = true}): an option by its name");                          \
  }
TUTTI_REDUCTION(sum)
TUTTI_REDUCTION(prod)
TUTTI_REDUCTION(max)
TUTTI_REDUCTION(min)
TUTTI_REDUCTION(mean)
TUTTI_REDUCTION(var)
TUTTI_REDUCTION(std)
TUTTI_REDUCTION(all)
TUTTI_REDUCTION(any)
TUTTI_REDUCTION(count_nonzero)
TUTTI_REDUCTION(logsumexp)
TUTTI_REDUCTION(vector_norm)
#undef TUTTI_REDUCTION
#define TUTTI_REDUCTION(function)                                                                              \
  template <std::integral A, Number B, class... Others>                                                        \
  Tensor function(const Tensor&, A, B, Others...) {                                                            \
    TUTTI_INSTEAD(A, "write " #function "(x, 0, {.keepdims = true}): it takes one axis, and options by name"); \
  }                                                                                                            \
  template <class T = void>                                                                                    \
  Tensor function(const Tensor&, const detail::OptionsInstead&) {                                              \
    TUTTI_INSTEAD(T*, "write " #function "(x, 0, {.keepdims = true}): options stand behind the axis");         \
  }
TUTTI_REDUCTION(argmax)
TUTTI_REDUCTION(argmin)
#undef TUTTI_REDUCTION

#undef TUTTI_INSTEAD

}  // namespace tutti
