// What layers of a neural network are made of: normalisations, losses, dropout, lookups.
#pragma once

#include <cstdint>
#include <optional>

#include "tutti/exec/generator.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

// e^x over its sum along the axis, and the logarithm of that; neither overflows. Floating dtypes.
Tensor softmax(const Tensor& x, std::int64_t axis = -1, Site site = {});
Tensor log_softmax(const Tensor& x, std::int64_t axis = -1, Site site = {});

struct LayerNormOptions {
  std::int64_t axes = 1;  // the last so many are normalised over
  double epsilon = 1e-5;  // added to the variance
};
// (x - mean) / sqrt(variance + epsilon) * weight + bias. Weight and bias have the shape of the normalised axes and x's dtype;
// an undefined tensor leaves them out.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, const LayerNormOptions& options = {},
                  Site site = {});

// Rows of the weight at these indices, negative ones counting from the end.
Tensor embedding(const Tensor& weight, const Tensor& indices, Site site = {});

enum class LossReduction : std::uint8_t { none, sum, mean };
struct CrossEntropyOptions {
  LossReduction reduction = LossReduction::mean;
  std::optional<std::int64_t> ignore_index = {};  // such labels lose nothing and do not count in the mean
};
// -log softmax(logits) at the label. The classes are axis 1 of the logits (axis 0 of a vector); the labels, int32 or int64,
// have the other axes. A label that is no class spoils the result.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options = {}, Site site = {});

struct DropoutOptions {
  std::optional<std::uint64_t> key = {};  // the same key and counter drop the same elements on every backend
  std::uint64_t counter = 0;
  Generator* generator = nullptr;  // without a key; null: default_generator()
};
// Each element is 0 with probability p and x / (1 - p) otherwise. Four elements take one block of numbers.
Tensor dropout(const Tensor& x, double p, const DropoutOptions& options = {}, Site site = {});

struct OneHotOptions {
  TensorArg on = 1;  // numbers
  TensorArg off = 0;
  DType dtype = DType::f32;
};
// `on` where a new last axis of that depth stands at the index, `off` elsewhere. An index outside 0 ... depth - 1 spoils the
// result.
Tensor one_hot(const Tensor& indices, std::int64_t depth, const OneHotOptions& options = {}, Site site = {});

}  // namespace tutti
