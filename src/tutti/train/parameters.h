// What a model learns: the trainable variables inside it, by name. A model is any nesting that flatten.h knows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tutti/ops/flatten.h"

namespace tutti {

// In the order of value_and_grad's gradients.
template <class Model>
std::vector<Variable> parameters(const Model& model) {
  std::vector<Variable> out;
  each_leaf(model, [&](const auto& leaf) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) {
      if (is_floating(leaf.dtype()) && leaf.is_trainable()) out.push_back(leaf);
    }
  });
  return out;
}

// Every variable, trainable or not, with the way to it as its name: "hidden.weight".
template <class Model>
std::vector<std::pair<std::string, Variable>> named_variables(const Model& model) {
  std::vector<std::pair<std::string, Variable>> out;
  each_leaf(std::string(), model, [&](const std::string& name, const auto& leaf) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) out.emplace_back(name, leaf);
  });
  return out;
}

namespace detail {
void set_frozen(const Variable& variable, bool frozen);
}  // namespace detail

// Frozen variables keep their values, and a frozen BatchNorm works as after training; false lets those learn again that are
// trainable.
template <class Model>
void freeze(const Model& model, bool frozen = true) {
  for (const auto& [name, variable] : named_variables(model)) detail::set_frozen(variable, frozen);
}

// While it lives, layers on this thread work as after training: nothing is dropped, and batch statistics are those learnt.
class Evaluation {
 public:
  Evaluation() noexcept;
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

 private:
  bool before_;
};
[[nodiscard]] bool is_training() noexcept;

}  // namespace tutti
