// Layers: structs with variables and a call operator. A network is a struct of your own with layers in it:
//   struct Net { Dense hidden{784, 128}; Dense out{128, 10}; Tensor operator()(const Tensor& x) const { return
//   out(relu(hidden(x))); } };
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tutti/exec/generator.h"
#include "tutti/ops/flatten.h"
#include "tutti/ops/variable.h"
#include "tutti/ops/window.h"
#include "tutti/train/initializers.h"

namespace tutti {

struct DenseOptions {
  bool bias = true;
  Initializer weights = glorot_uniform;
  DType dtype = DType::f32;
};
// x @ weight + bias, along the last axis.
struct Dense {
  Dense(std::int64_t inputs, std::int64_t outputs, const DenseOptions& options = {}, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

  Variable weight;  // (inputs, outputs)
  std::optional<Variable> bias;
};

struct Conv2DOptions {
  Size2d stride = 1;
  Size2d padding = 0;
  Size2d dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Initializer weights = he_normal;
  DType dtype = DType::f32;
};
// Images are (batch, channels, height, width).
struct Conv2D {
  Conv2D(std::int64_t channels_in, std::int64_t channels_out, Size2d kernel, const Conv2DOptions& options = {}, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

  Variable weight;  // (channels out, channels in / groups, height, width)
  std::optional<Variable> bias;
  Conv2dOptions window;
};

// A row of the table for each index.
struct Embedding {
  Embedding(std::int64_t entries, std::int64_t features, DType dtype = DType::f32, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& indices, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("weight", weight);
  }

  Variable weight;  // (entries, features)
};

// Over the last axis.
struct LayerNorm {
  explicit LayerNorm(std::int64_t features, double epsilon = 1e-5, DType dtype = DType::f32, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

  Variable weight;
  Variable bias;
  double epsilon;
};

struct BatchNormOptions {
  double momentum = 0.1;  // of the new statistics in those kept
  double epsilon = 1e-5;
  DType dtype = DType::f32;
};
// Over all axes but the second. In training by the batch's own statistics, which are also kept; in evaluation by those kept.
struct BatchNorm {
  explicit BatchNorm(std::int64_t channels, const BatchNormOptions& options = {}, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("weight", weight);
    visit("bias", bias);
    visit("running_mean", running_mean);
    visit("running_var", running_var);
  }

  Variable weight;
  Variable bias;
  Variable running_mean;  // not trainable, as the next
  Variable running_var;
  BatchNormOptions options;
};

// In training each element is 0 with probability p; in evaluation nothing happens.
struct Dropout {
  double p = 0.5;
  Generator* generator = nullptr;  // null: default_generator()
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&&) const {}
};

struct AttentionOptions {
  bool causal = false;  // a place sees itself and those before it
  double dropout = 0;
  bool bias = true;
  DType dtype = DType::f32;
};
// x is (batch, length, features); every head sees features / heads of them. Memory is linear in the length.
struct MultiHeadAttention {
  MultiHeadAttention(std::int64_t features, std::int64_t heads, const AttentionOptions& options = {}, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const;
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("query", query);
    visit("key", key);
    visit("value", value);
    visit("out", out);
  }

  Dense query;
  Dense key;
  Dense value;
  Dense out;
  std::int64_t heads;
  AttentionOptions options;
};

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
