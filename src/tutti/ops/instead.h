// Calls that other libraries take and this one does not: each is an error that begins with the call to write. Declared to be
// refused; not for users.
#pragma once

#include <concepts>
#include <vector>

#include "tutti/ops/index.h"
#include "tutti/ops/instead_creation.h"
#include "tutti/ops/instead_operators.h"
#include "tutti/ops/instead_reductions.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

// The body of such a function. `T`: a parameter of its template, so that nothing is said before the call is made.
#define TUTTI_INSTEAD(T, ...)                 \
  static_assert(sizeof(T) == 0, __VA_ARGS__); \
  return {}

// Sizes and axes without braces: reshape(x, 2, 3), squeeze(x, 0, 1).
#define TUTTI_LIST(function, list, what)                                                 \
  template <std::integral A, std::integral B, class... Others>                           \
  Tensor function(const Tensor&, A, B, Others...) {                                      \
    TUTTI_INSTEAD(A, "write " #function "(x, " list "): several " what " go in braces"); \
  }
TUTTI_LIST(reshape, "{2, 3}", "sizes")
TUTTI_LIST(broadcast_to, "{2, 3}", "sizes")
TUTTI_LIST(tile, "{2, 3}", "numbers")
TUTTI_LIST(permute_dims, "{1, 0}", "axes")
TUTTI_LIST(expand_dims, "{0, 1}", "axes")
TUTTI_LIST(squeeze, "{0, 1}", "axes")
TUTTI_LIST(flip, "{0, 1}", "axes")
#undef TUTTI_LIST

template <std::integral A, std::integral B, std::integral C, class... Others>
Tensor transpose(const Tensor&, A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write transpose(x, {2, 0, 1}), or transpose(x, 0, 1) to swap two axes");
}

template <std::same_as<Tensor> T>
Tensor max(const Tensor&, const T&) {
  TUTTI_INSTEAD(T, "write maximum(a, b); max(x, axis) is the largest of one tensor");
}
template <std::same_as<Tensor> T>
Tensor min(const Tensor&, const T&) {
  TUTTI_INSTEAD(T, "write minimum(a, b); min(x, axis) is the smallest of one tensor");
}

// Arguments in the order of another function.
template <std::integral A>
Tensor take(const Tensor&, A, const Tensor&) {
  TUTTI_INSTEAD(A, "write take(x, indices, axis), or index_select(x, axis, indices)");
}
template <std::integral A>
Tensor take_along_axis(const Tensor&, A, const Tensor&) {
  TUTTI_INSTEAD(A, "write take_along_axis(x, indices, axis), or gather(x, axis, indices)");
}
template <std::integral A>
Tensor index_select(const Tensor&, const Tensor&, A) {
  TUTTI_INSTEAD(A, "write index_select(x, axis, indices), or take(x, indices, axis)");
}
template <std::integral A>
Tensor gather(const Tensor&, const Tensor&, A) {
  TUTTI_INSTEAD(A, "write gather(x, axis, indices), or take(x, indices, axis), which is TensorFlow's gather");
}

#define TUTTI_SORT(function)                                              \
  template <std::integral A, std::same_as<bool> B>                        \
  Tensor function(const Tensor&, A, B) {                                  \
    TUTTI_INSTEAD(A, "write " #function "(x, -1, {.descending = true})"); \
  }                                                                       \
  template <std::same_as<bool> B>                                         \
  Tensor function(const Tensor&, B) {                                     \
    TUTTI_INSTEAD(B, "write " #function "(x, {.descending = true})");     \
  }
TUTTI_SORT(sort)
TUTTI_SORT(argsort)
#undef TUTTI_SORT

template <std::convertible_to<Index> A, class... Others>
Tensor index(const Tensor&, const A&, const Others&...) {
  TUTTI_INSTEAD(A, "write index(x, {0}), index(x, {Range{1, 3}, 0}): what stands in NumPy's brackets goes in braces");
}

template <std::integral A, std::integral B, std::integral C, class... Others>
Tensor slice(const Tensor&, A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write slice(x, axis, {start, stop}): the range goes in braces");
}

template <std::same_as<Tensor> T, class... Others>
Tensor concat(const Tensor&, const T&, Others...) {
  TUTTI_INSTEAD(T, "write concat({a, b}, axis): the tensors go in braces");
}
template <std::same_as<Tensor> T, class... Others>
Tensor stack(const Tensor&, const T&, Others...) {
  TUTTI_INSTEAD(T, "write stack({a, b}, axis): the tensors go in braces");
}

template <std::same_as<Tensor> T, class... Others>
std::vector<Tensor> meshgrid(const Tensor&, const T&, const Others&...) {
  TUTTI_INSTEAD(T, "write meshgrid({x, y}): the tensors go in braces");
}

#define TUTTI_TOLERANCES(function)                                               \
  template <Number A, class... Others>                                           \
  Tensor function(TensorArg, TensorArg, A, Others...) {                          \
    TUTTI_INSTEAD(A, "write " #function "(x, y, {.rtol = 1e-5, .atol = 1e-8})"); \
  }
TUTTI_TOLERANCES(isclose)
TUTTI_TOLERANCES(allclose)
#undef TUTTI_TOLERANCES

template <std::integral A>
Tensor round(TensorArg, A) {
  TUTTI_INSTEAD(A, "write round(x * 100) / 100: it takes no number of decimals");
}

template <std::same_as<Tensor> T>
Tensor where(const T&) {
  TUTTI_INSTEAD(T, "write nonzero(condition) for the places where it holds, where(condition, a, b) to choose");
}

#undef TUTTI_INSTEAD

}  // namespace tutti
