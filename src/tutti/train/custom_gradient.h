// Functions whose gradient is stated by hand, or worked out by running them a second time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/ops/flatten.h"
#include "tutti/train/tape.h"

namespace tutti {

// From the inputs and outputs of a call and the gradients of its outputs (undefined: zero), those of its inputs; undefined: none.
using StatedGradient = std::function<std::vector<Tensor>(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                                         std::span<const Tensor> gradients)>;

namespace detail {
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
std::vector<Tensor> call_with_gradient(TensorFunction function, StatedGradient gradient, std::span<const Tensor> inputs,
                                       Site site);

// What a function that is run twice must find the second time as it was the first: the values of variables and the numbers drawn.
class Rerun;
std::shared_ptr<Rerun> new_rerun();
// Runs it, keeping the numbers that are drawn on the way.
void run_first(Rerun& state, const std::function<void()>& function);
// Runs it with those numbers, and with these values in the variables.
void run_again(Rerun& state, std::span<const Variable> variables, std::span<const Tensor> values, Executor& tape,
               const std::function<void()>& function);
}  // namespace detail

// fn(x, ...) with a gradient of your own: auto f = custom_gradient(fn, backward); y = f(x, w). `function` takes tensors and gives
// one.
template <class F>
auto custom_gradient(F function, StatedGradient backward, Site site = {}) {
  return [function = std::move(function), backward = std::move(backward), site](const auto&... given) {
    const std::vector<Tensor> inputs{Tensor(given)...};
    const auto run = [function](std::span<const Tensor> all) {
      return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return std::vector<Tensor>{function(all[i]...)};
      }(std::make_index_sequence<sizeof...(given)>{});
    };
    return detail::call_with_gradient(run, backward, inputs, site)[0];
  };
}

// fn(x, ...) of which only the arguments are kept for the gradient; the rest is worked out a second time when that is asked for.
// For parts of a network that hold much memory. Arguments are any nesting of tensors, variables and plain structs; variables that
// the function does not get as arguments have no gradient through it. The second run draws the same random numbers.
template <class F>
auto checkpoint(F function, Site site = {}) {
  return [function = std::move(function), site](const auto&... given) {
    using All = std::tuple<std::remove_cvref_t<decltype(given)>...>;
    const auto arguments = std::make_shared<All>(given...);
    std::vector<Tensor> inputs;
    std::vector<Variable> variables;
    each_leaf(*arguments, [&](auto& leaf) {
      inputs.push_back(Tensor(leaf));
      if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) variables.push_back(leaf);
    });
    const auto state = detail::new_rerun();
    // The arguments with these tensors in the place of theirs.
    const auto with = [arguments](std::span<const Tensor> all) {
      All out = *arguments;
      std::size_t next = 0;
      each_leaf(out, [&](auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) leaf = all[next];
        ++next;
      });
      return out;
    };
    const auto run = [=](std::span<const Tensor> all) {
      Tensor out;
      detail::run_first(*state, [&] { out = std::apply(function, with(all)); });
      return std::vector<Tensor>{out};
    };
    const auto backward = [=](std::span<const Tensor> all, std::span<const Tensor>, std::span<const Tensor> gradients) {
      All again = with(all);
      Tape tape;
      std::vector<Tape::Wanted> wanted;
      std::vector<bool> has_gradient;
      std::vector<Tensor> values;
      std::size_t next = 0;
      each_leaf(again, [&](auto& leaf) {
        const Tensor& value = all[next++];
        has_gradient.push_back(is_floating(value.dtype()));
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) {
          if (has_gradient.back()) wanted.push_back({.tensor = &leaf});
        } else {
          values.push_back(value);
          if (has_gradient.back()) wanted.push_back({.variable = &leaf});
        }
        tape.watch_leaf(leaf);
      });
      Tensor result;
      detail::run_again(*state, variables, values, tape, [&] { result = std::apply(function, std::as_const(again)); });
      std::vector<Tensor> found = tape.gradients(result, wanted, gradients[0], true, site);
      std::vector<Tensor> out;
      std::size_t taken = 0;
      for (const bool has : has_gradient) out.push_back(has ? found[taken++] : Tensor());
      return out;
    };
    return detail::call_with_gradient(run, backward, inputs, site)[0];
  };
}

}  // namespace tutti
