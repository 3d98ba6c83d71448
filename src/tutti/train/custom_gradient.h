// Functions whose gradient is stated by hand, or worked out by running them a second time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/ops/flatten.h"
#include "tutti/ops/views.h"
#include "tutti/train/tape.h"

namespace tutti {

// From the inputs and outputs of a call and the gradients of its outputs (undefined: zero), those of its inputs; undefined: none.
using StatedGradient = std::function<std::vector<Tensor>(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                                         std::span<const Tensor> gradients)>;

namespace detail {

using Tensors = std::vector<Tensor>;

// Runs the function and records it as one op of the inputs, with that gradient. Throws NoGradient where it uses another tensor
// or variable that a gradient is being taken of. `given` are the variables among the arguments, whose values are inputs.
void run_with_gradient(const Tensors& inputs, const std::vector<std::pair<Variable, Tensor>>& given,
                       const std::function<Tensors()>& function, StatedGradient gradient, Site site);
// Runs `first` and records it as one op, whose gradient runs `again`, which must do the same.
void run_checkpoint(const std::function<Tensors()>& first, std::function<Tensors()> again, Site site);

template <class T>
Tensors tensors_in(const T& value) {
  Tensors out;
  each_leaf(value, [&](const auto& leaf) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) {
      if (leaf.is_defined()) out.push_back(leaf);
    }
  });
  return out;
}

}  // namespace detail

// fn(x, ...) with a gradient of your own: auto f = custom_gradient(fn, backward); y = f(x, w). Arguments and results are any
// nesting of tensors, variables and plain structs; `backward` has the tensors and variables in them one after the other. What
// else a gradient is being taken of may not be used in the function.
template <class F>
auto custom_gradient(F function, StatedGradient backward, Site site = {}) {
  return [function = std::move(function), backward = std::move(backward), site](const auto&... given) {
    detail::Tensors inputs;
    std::vector<std::pair<Variable, Tensor>> variables;
    const auto take = [&](const auto& leaf) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) {
        inputs.push_back(leaf.value(site));
        variables.emplace_back(leaf, inputs.back());
      } else if (leaf.is_defined()) {
        inputs.push_back(leaf);
      }
    };
    (each_leaf(given, take), ...);
    std::optional<std::remove_cvref_t<decltype(function(given...))>> result;
    const auto run = [&] {
      result.emplace(function(given...));
      each_leaf(*result, [&](auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) {
          if (leaf.is_defined()) leaf = detail::identity(leaf, site);  // an argument that is given back has this gradient too
        }
      });
      return detail::tensors_in(*result);
    };
    detail::run_with_gradient(inputs, variables, run, backward, site);
    return *std::move(result);
  };
}

// fn(x, ...) of which only what goes in is kept for the gradient; the rest is worked out a second time when that is asked for.
// For parts of a network that hold much memory. Arguments and results are any nesting of tensors, variables and plain structs;
// tensors and variables that the function uses without getting them have their gradients too. The second run finds the variables
// as the first did, draws the same random numbers, and assigns nothing.
template <class F>
auto checkpoint(F function, Site site = {}) {
  return [function = std::move(function), site](const auto&... given) {
    const auto call = [function, arguments = std::tuple<std::remove_cvref_t<decltype(given)>...>(given...)] {
      return std::apply(function, arguments);
    };
    std::optional<std::remove_cvref_t<decltype(call())>> result;
    const auto first = [&] {
      result.emplace(call());
      return detail::tensors_in(*result);
    };
    detail::run_checkpoint(
        first, [call] { return detail::tensors_in(call()); }, site);
    return *std::move(result);
  };
}

}  // namespace tutti
