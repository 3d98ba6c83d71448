// The gradient of a function: value_and_grad(fn)(x) gives what fn(x) gives, and how that changes with x.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/ops/flatten.h"
#include "tutti/ops/views.h"
#include "tutti/train/tape.h"

namespace tutti {

// auto [value, grads] = value_and_grad(fn)(x);
template <class Value, class Gradients>
struct ValueAndGrad {
  Value value;
  Gradients grads;
};
template <class Value, class Gradients>
ValueAndGrad(Value, Gradients) -> ValueAndGrad<Value, Gradients>;

namespace detail {

template <class T>
constexpr bool holds_variables();

template <class Tuple, std::size_t... i>
constexpr bool any_holds_variables(std::index_sequence<i...>) {
  return (holds_variables<std::remove_cvref_t<std::tuple_element_t<i, Tuple>>>() || ...);
}

template <class T>
constexpr bool holds_variables() {
  if constexpr (std::same_as<T, Variable> || SaysItsMembers<T>) {
    return true;
  } else if constexpr (TupleLike<T>) {
    return any_holds_variables<T>(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (MapLike<T>) {
    return holds_variables<typename T::mapped_type>();
  } else if constexpr (ListLike<T>) {
    return holds_variables<std::remove_cvref_t<decltype(*std::declval<T&>().begin())>>();
  } else if constexpr (PointerLike<T>) {
    return holds_variables<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
  } else if constexpr (PlainStruct<T>) {
    using Fields = decltype(tie_fields(std::declval<T&>()));
    return any_holds_variables<Fields>(std::make_index_sequence<std::tuple_size_v<Fields>>{});
  } else {
    return false;
  }
}

inline bool has_gradient(const Tensor& x) { return x.is_defined() && is_floating(x.dtype()); }
inline bool has_gradient(const Variable& x) { return is_floating(x.dtype()) && x.is_trainable(); }

// Gradients have the shape of what they are of: a tensor's is a tensor, a struct's of tensors is such a struct. A struct with
// variables cannot hold them; its gradients are a list, in the order of parameters().
template <class T>
using GradientsOf =
    std::conditional_t<std::same_as<T, Variable>, Tensor, std::conditional_t<holds_variables<T>(), std::vector<Tensor>, T>>;

template <class T>
GradientsOf<T> shaped_like(const T& of, std::vector<Tensor>& gradients, std::size_t& next) {
  if constexpr (std::same_as<T, Variable>) {
    return has_gradient(of) ? gradients[next++] : Tensor();
  } else if constexpr (holds_variables<T>()) {
    std::vector<Tensor> out;
    each_leaf(of, [&](const auto& leaf) {
      if (has_gradient(leaf)) out.push_back(gradients[next++]);
    });
    return out;
  } else {
    T out = of;
    each_leaf(out, [&](Tensor& leaf) { leaf = has_gradient(leaf) ? gradients[next++] : Tensor(); });
    return out;
  }
}

template <class T>
Tensor first_tensor(const T& value, Site site) {
  Tensor found;
  each_leaf(value, [&](const auto& leaf) {
    if (!found.is_defined()) found = Tensor(leaf);
  });
  if (!found.is_defined()) throw NoGradient("the function that is differentiated must give a tensor", site);
  return found;
}

template <class F, class All, std::size_t... which>
auto differentiate(const F& function, All& arguments, Site site, std::index_sequence<which...>) {
  Tape tape;
  std::vector<Tape::Wanted> wanted;
  const auto watch = [&](auto& leaf) {
    using T = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (std::same_as<T, Tensor>) {
      if (!has_gradient(leaf)) return;
      leaf = identity(leaf, site);  // the same tensor may be given twice
      wanted.push_back({.tensor = &leaf});
    } else {
      if (!has_gradient(leaf)) return;
      wanted.push_back({.variable = &leaf});
    }
    tape.watch_leaf(leaf);
  };
  (each_leaf(std::get<which>(arguments), watch), ...);
  auto value = [&] {
    const Tape::Recording on(tape);
    return std::apply(function, std::as_const(arguments));
  }();
  std::vector<Tensor> gradients = tape.gradients(first_tensor(value, site), wanted, {}, true, site);
  std::size_t next = 0;
  if constexpr (sizeof...(which) == 1) {
    return ValueAndGrad{std::move(value), shaped_like(std::get<which...>(arguments), gradients, next)};
  } else {
    // In braces, so that they are made in order.
    std::tuple<GradientsOf<std::tuple_element_t<which, All>>...> all{shaped_like(std::get<which>(arguments), gradients, next)...};
    return ValueAndGrad{std::move(value), std::move(all)};
  }
}

}  // namespace detail

// A function that calls `function` and also gives the gradients of its result with respect to its first argument, or to those
// that are named: value_and_grad<0, 2>(fn). The result is one number, or a tuple or struct whose first tensor is. An argument is
// any nesting of tensors, variables and plain structs (flatten.h). Nothing here waits. May be nested: a gradient can be
// differentiated. The arguments are copied; a copy of a variable is the same variable.
template <std::size_t... which, class F>
auto value_and_grad(F function, Site site = {}) {
  return [function = std::move(function), site](const auto&... given) {
    std::tuple<std::remove_cvref_t<decltype(given)>...> arguments(given...);
    if constexpr (sizeof...(which) == 0) {
      return detail::differentiate(function, arguments, site, std::index_sequence<0>{});
    } else {
      return detail::differentiate(function, arguments, site, std::index_sequence<which...>{});
    }
  };
}

// The gradients alone.
template <std::size_t... which, class F>
auto grad(F function, Site site = {}) {
  return [both = value_and_grad<which...>(std::move(function), site)](const auto&... given) { return both(given...).grads; };
}

}  // namespace tutti
