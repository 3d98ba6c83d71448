// A network that is a list: what each step gives is what the next one gets.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/ops/flatten.h"

namespace tutti {

// One after the other: layers and functions of one tensor. What a layer holds can be reached through it.
class Sequential {
 public:
  template <class... Layers>
  explicit Sequential(Layers... layers) {
    (add(std::move(layers)), ...);
  }
  template <class Layer>
  void add(Layer layer) {
    steps_.push_back(std::make_shared<Held<Layer>>(std::move(layer)));
  }
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const auto& [name, variable] : steps_[i]->variables())
        visit((std::to_string(i) + (name.empty() ? "" : "." + name)).c_str(), variable);
    }
  }

 private:
  struct Step {
    virtual ~Step() = default;
    [[nodiscard]] virtual Tensor run(const Tensor& x, Site site) const = 0;
    [[nodiscard]] virtual std::vector<std::pair<std::string, Variable>> variables() const = 0;
  };
  template <class Layer>
  struct Held final : Step {
    explicit Held(Layer given) : layer(std::move(given)) {}
    [[nodiscard]] Tensor run(const Tensor& x, Site site) const override {
      if constexpr (requires { layer(x, site); }) {
        return layer(x, site);
      } else {
        return layer(x);
      }
    }
    [[nodiscard]] std::vector<std::pair<std::string, Variable>> variables() const override {
      std::vector<std::pair<std::string, Variable>> out;
      each_leaf(std::string(), layer, [&](const std::string& name, const auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) out.emplace_back(name, leaf);
      });
      return out;
    }
    Layer layer;
  };

  std::vector<std::shared_ptr<const Step>> steps_;
};

}  // namespace tutti
