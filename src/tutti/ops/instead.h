// Calls that other libraries take and this one does not: each is an error that begins with the call to write. Declared to be
// refused; not for users.
#pragma once

#include <concepts>
#include <initializer_list>
#include <vector>

#include "tutti/ops/index.h"
#include "tutti/ops/instead_operators.h"
#include "tutti/ops/instead_reductions.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

namespace detail {
struct AnyNumber {
  template <Number T>
  AnyNumber(T) noexcept {}
};
}  // namespace detail

// The body of such a function. `T`: a parameter of its template, so that nothing is said before the call is made.
#define TUTTI_INSTEAD(T, ...)                 \
  static_assert(sizeof(T) == 0, __VA_ARGS__); \
  return {}

// Sizes and axes without braces: zeros(2, 3), reshape(x, 2, 3), squeeze(x, 0, 1).
#define TUTTI_SIZES(function)                                                    \
  template <std::integral A, std::integral B, class... Others>                   \
  Tensor function(A, B, Others...) {                                             \
    TUTTI_INSTEAD(A, "write " #function "({2, 3}): several sizes go in braces"); \
  }
TUTTI_SIZES(zeros)
TUTTI_SIZES(ones)
TUTTI_SIZES(empty)
TUTTI_SIZES(uniform)
TUTTI_SIZES(normal)
#undef TUTTI_SIZES

#define TUTTI_DTYPE(function)                                     \
  template <class T = void>                                       \
  Tensor function(const Shape&, const detail::OptionsInstead&) {  \
    TUTTI_INSTEAD(T*, "write " #function "({2, 3}, DType::f32)"); \
  }
TUTTI_DTYPE(zeros)
TUTTI_DTYPE(ones)
TUTTI_DTYPE(empty)
#undef TUTTI_DTYPE

// The shape comes first here, last in NumPy.
template <Number A, Number B>
Tensor uniform(A, B, const Shape&) {
  TUTTI_INSTEAD(A, "write uniform({3}, {.low = 0, .high = 1}): the shape comes first");
}
template <Number A, Number B>
Tensor normal(A, B, const Shape&) {
  TUTTI_INSTEAD(A, "write normal({3}, {.mean = 0, .stddev = 1}): the shape comes first");
}

#define TUTTI_BOUNDS(function, options)                                                \
  template <Number A>                                                                  \
  Tensor function(const Shape&, A) {                                                   \
    TUTTI_INSTEAD(A, "write " #function "({3}, " options "): options by their names"); \
  }                                                                                    \
  template <Number A, Number B>                                                        \
  Tensor function(const Shape&, A, B) {                                                \
    TUTTI_INSTEAD(A, "write " #function "({3}, " options "): options by their names"); \
  }
TUTTI_BOUNDS(uniform, "{.low = 0, .high = 1}")
TUTTI_BOUNDS(normal, "{.mean = 0, .stddev = 1}")
#undef TUTTI_BOUNDS
template <std::integral A>
Tensor randint(const Shape&, A) {
  TUTTI_INSTEAD(A, "write randint({3}, 0, 10): both bounds, the lower one first");
}

// Braces with numbers of several types.
#define TUTTI_MIXED "write constant({1.0, 2.5}): numbers of one type, for another dtype constant({1.0, 2.5}, DType::f32)"
template <class T = void, class... Others>
Tensor constant(std::initializer_list<detail::AnyNumber>, const Others&...) {
  TUTTI_INSTEAD(T*, TUTTI_MIXED);
}
template <class T = void>
Tensor constant(std::initializer_list<detail::AnyNumber>, const Shape&) {
  TUTTI_INSTEAD(T*, TUTTI_MIXED);
}
#undef TUTTI_MIXED

template <std::integral A, std::integral B, std::integral C, class... Others>
Tensor eye(A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write eye(3, 4, {.offset = 1})");
}
template <Number A, Number B, std::integral C, std::same_as<bool> D>
Tensor linspace(A, B, C, D) {
  TUTTI_INSTEAD(A, "write linspace(0, 1, 5, {.endpoint = true})");
}

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

template <std::integral A, std::integral B, Number C, class... Others>
Tensor full(A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write full({2, 3}, value): several sizes go in braces");
}

template <std::integral A, std::integral B, std::integral C, class... Others>
Tensor transpose(const Tensor&, A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write transpose(x, {2, 0, 1}), or transpose(x, 0, 1) to swap two axes");
}

// The shape comes first here, last in NumPy and PyTorch; three numbers in a row could be either.
template <std::integral A, std::integral B, std::integral C, class... Others>
Tensor randint(A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write randint({3}, low, high): the shape comes first, in braces");
}
template <std::integral A, std::integral B, class C, class... Others>
Tensor randint(A, B, std::initializer_list<C>, Others...) {
  TUTTI_INSTEAD(A, "write randint({3}, low, high): the shape comes first, in braces");
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
