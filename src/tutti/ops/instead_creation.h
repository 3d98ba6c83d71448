// Calls that make tensors as other libraries take them: as in instead.h, errors with the call to write.
#pragma once

#include <concepts>
#include <initializer_list>

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

// Sizes without braces: zeros(2, 3).
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
template <class T = void>
Tensor constant(std::initializer_list<detail::AnyNumber>) {
  TUTTI_INSTEAD(T*, TUTTI_MIXED);
}
template <class T = void>
Tensor constant(std::initializer_list<detail::AnyNumber>, DType) {
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

template <std::integral A, std::integral B, Number C, class... Others>
Tensor full(A, B, C, Others...) {
  TUTTI_INSTEAD(A, "write full({2, 3}, value): several sizes go in braces");
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

#undef TUTTI_INSTEAD

}  // namespace tutti
