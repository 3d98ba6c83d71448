// Layers: structs with variables and a call operator. A network is a struct of your own with layers in it:
//   struct Net { Dense hidden{784, 128}; Dense out{128, 10}; Tensor operator()(const Tensor& x) const { return
//   out(relu(hidden(x))); } };
#pragma once

#include <cstdint>
#include <optional>

#include "tutti/exec/generator.h"
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

struct EmbeddingOptions {
  Initializer weights = normal_initializer(0.02);
  DType dtype = DType::f32;
};
// A row of the table for each index.
struct Embedding {
  Embedding(std::int64_t entries, std::int64_t features, const EmbeddingOptions& options = {}, Site site = {});
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
  Variable running_mean;  // not trainable, as the next; of half precision in f32, since what is added in a step is little
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
  double dropout = 0;   // of the joined heads' elements, before the last projection; attention weights are not dropped
  bool bias = true;
  DType dtype = DType::f32;
};
// x is (batch, length, features); every head sees features / heads of them. Memory is linear in the length.
struct MultiHeadAttention {
  MultiHeadAttention(std::int64_t features, std::int64_t heads, const AttentionOptions& options = {}, Site site = {});
  [[nodiscard]] Tensor operator()(const Tensor& x, Site site = {}) const { return (*this)(x, Tensor(), site); }
  // The mask is bool and broadcast to (batch, heads, length, length): where it holds, the place of the row sees that of the
  // column. For sequences of several lengths: (batch, 1, 1, length).
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& mask, Site site = {}) const;
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

}  // namespace tutti
