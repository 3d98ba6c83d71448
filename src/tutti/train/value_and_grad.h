// The gradient of a function: value_and_grad(fn)(x) gives what fn(x) gives, and how that changes with x.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/mesh/sharded_tensor.h"
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
  if constexpr (std::same_as<T, Variable> || (SaysItsMembers<T> && !std::same_as<T, ShardedTensor>)) {
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

// Devices that hold the same each have a part of the gradient.
void sum_over_replicas(ShardedTensor& gradient, Site site);
struct SumOverReplicas {
  Site site;
  template <class T>
  void operator()(const std::string&, T&) const {}
  void after(ShardedTensor& gradient) const { sum_over_replicas(gradient, site); }
};

template <class T>
GradientsOf<T> shaped_like(const T& of, std::vector<Tensor>& gradients, std::size_t& next, Site site) {
  if constexpr (std::same_as<T, Variable>) {
    return has_gradient(of) ? gradients[next++] : Tensor();
  } else if constexpr (holds_variables<T>()) {
    std::vector<Tensor> out;
    each_leaf(of, [&](const auto& leaf) {
      if (has_gradient(leaf)) out.push_back(gradients[next++]);
    });
    return out;
  } else {
    std::vector<const Tensor*> given;
    each_leaf(of, [&](const Tensor& leaf) { given.push_back(&leaf); });
    T out = of;
    std::size_t place = 0;
    each_leaf(out, [&](Tensor& leaf) {
      if (&leaf == given[place++]) {
        throw InvalidArgument(
            "value_and_grad: a gradient would overwrite the argument's tensor, behind a pointer that both "
            "share; give the tensor itself, or a std::optional",
            site);
      }
      leaf = has_gradient(leaf) ? gradients[next++] : Tensor();
    });
    each_value(std::string(), out, SumOverReplicas{site});
    return out;
  }
}

// What is differentiated: the first tensor of a result. Of a sharded one, which must be one number, a shard; `weight` is then 0
// on all processes but that of the first device, so that it counts once.
struct FirstTensor {
  Site site;
  Tensor found = {};
  Tensor weight = {};
  template <class T>
  void operator()(const std::string&, const T& value) {
    if constexpr (Leaf<T>) {
      if (!found.is_defined()) found = Tensor(value);
    }
  }
  void after(const ShardedTensor& value);
};

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
  FirstTensor first{site};
  each_value(std::string(), value, first);
  if (!first.found.is_defined()) throw NoGradient("the function that is differentiated must give a tensor", site);
  std::vector<Tensor> gradients = tape.gradients(first.found, wanted, first.weight, true, site);
  std::size_t next = 0;
  if constexpr (sizeof...(which) == 1) {
    return ValueAndGrad{std::move(value), shaped_like(std::get<which...>(arguments), gradients, next, site)};
  } else {
    // In braces, so that they are made in order.
    std::tuple<GradientsOf<std::tuple_element_t<which, All>>...> all{
        shaped_like(std::get<which>(arguments), gradients, next, site)...};
    return ValueAndGrad{std::move(value), std::move(all)};
  }
}

}  // namespace detail

// A function that calls `function` and also gives the gradients of its result with respect to its first argument, or to those
// that are named: value_and_grad<0, 2>(fn). The result is one number, or a tuple or struct whose first tensor is. An argument is
// any nesting of tensors, sharded tensors, variables and plain structs (flatten.h). Nothing here waits. May be nested: a gradient
// can be differentiated. The arguments are copied; a copy of a variable is the same variable.
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
