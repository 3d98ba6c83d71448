// A network that is a list: what each step gives is what the next one gets.
#pragma once

#include <concepts>
#include <functional>
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
      steps_[i]->each_variable([&](const std::string& name, const Variable& variable) {
        visit((std::to_string(i) + (name.empty() ? "" : "." + name)).c_str(), variable);
      });
    }
  }

 private:
  struct Step {
    virtual ~Step() = default;
    [[nodiscard]] virtual Tensor run(const Tensor& x, Site site) const = 0;
    // Those in the layer, not copies: who visits them may keep where they are.
    virtual void each_variable(const std::function<void(const std::string& name, const Variable& variable)>& visit) const = 0;
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
    void each_variable(const std::function<void(const std::string& name, const Variable& variable)>& visit) const override {
      each_leaf(std::string(), layer, [&](const std::string& name, const auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) visit(name, leaf);
      });
    }
    Layer layer;
  };

  std::vector<std::shared_ptr<const Step>> steps_;
};

}  // namespace tutti
