// Operators and reads that take a tensor for a number, a place or a truth: as in instead.h, errors with the call to write.
#pragma once

#include <concepts>

#include "tutti/ops/variable.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// The body of such a function. `T`: a parameter of its template, so that nothing is said before the call is made.
#define TUTTI_INSTEAD(T, ...)                 \
  static_assert(sizeof(T) == 0, __VA_ARGS__); \
  return {}

// A tensor of bools is no answer in an if.
template <class A, class B>
  requires(std::same_as<A, Tensor> || std::same_as<B, Tensor>)
bool operator==(const A&, const B&) {
  TUTTI_INSTEAD(A, "write equal(a, b) element by element, item<bool>(all(equal(a, b))) for the whole; not_equal for !=");
}

// Both sides of && and || are asked for a bool.
#define TUTTI_TRUTH(sign, function, bits)                                                \
  template <class A, class B>                                                            \
    requires(std::same_as<A, Tensor> || std::same_as<B, Tensor>)                         \
  bool operator sign(const A&, const B&) {                                               \
    TUTTI_INSTEAD(A, "write " #function "(a, b), or a " #bits " b, element by element"); \
  }
TUTTI_TRUTH(&&, logical_and, &)
TUTTI_TRUTH(||, logical_or, |)
#undef TUTTI_TRUTH
template <std::same_as<Tensor> T>
bool operator!(const T&) {
  TUTTI_INSTEAD(T, "write logical_not(x), or ~x, element by element");
}

// What has no name is not changed: index(x, {0}) += y.
#define TUTTI_CHANGE(sign, method)                                                                              \
  template <class A, class B>                                                                                   \
    requires std::same_as<A, Tensor>                                                                            \
  Tensor operator sign(A&&, const B&) {                                                                         \
    TUTTI_INSTEAD(A, "write x = at(std::move(x), {0})." method ": index(x, {0}) is a value, not a place in x"); \
  }
TUTTI_CHANGE(+=, "add(y)")
TUTTI_CHANGE(-=, "add(-y)")
TUTTI_CHANGE(*=, "multiply(y)")
#undef TUTTI_CHANGE

#define TUTTI_CHANGE(sign, call)                                                  \
  template <class B>                                                              \
  const Variable& operator sign(const Variable& v, const B&) {                    \
    static_assert(sizeof(B) == 0, "write " call ": a variable changes by calls"); \
    return v;                                                                     \
  }
TUTTI_CHANGE(+=, "v.assign_add(x)")
TUTTI_CHANGE(-=, "v.assign_add(-x)")
TUTTI_CHANGE(*=, "v.assign(v * x)")
TUTTI_CHANGE(/=, "v.assign(v / x)")
TUTTI_CHANGE(%=, "v.assign(v % x)")
#undef TUTTI_CHANGE

// The type of the elements has to be named.
#define TUTTI_ELEMENT(function)                                                        \
  template <class T = void, std::same_as<Tensor> X>                                    \
    requires std::same_as<T, void>                                                     \
  bool function(const X&) {                                                            \
    TUTTI_INSTEAD(X, "write " #function "<float>(x), with the C++ type of x.dtype()"); \
  }
TUTTI_ELEMENT(item)
TUTTI_ELEMENT(read)
TUTTI_ELEMENT(read_async)
TUTTI_ELEMENT(try_read)
#undef TUTTI_ELEMENT

#undef TUTTI_INSTEAD

}  // namespace tutti
