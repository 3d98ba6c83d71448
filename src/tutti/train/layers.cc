#include "tutti/train/layers.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/linear.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/neural.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/train/attention.h"
#include "tutti/train/parameters.h"
#include "tutti/train/sequential.h"

namespace tutti {

namespace {

std::optional<Variable> bias_of(bool wanted, std::int64_t size, DType dtype, Site site) {
  if (!wanted) return std::nullopt;
  return Variable(zeros({size}, dtype, site), site);
}

DType dtype_of_statistics(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace

Dense::Dense(std::int64_t inputs, std::int64_t outputs, const DenseOptions& options, Site site)
    : weight(options.weights({inputs, outputs}, options.dtype, site), site),
      bias(bias_of(options.bias, outputs, options.dtype, site)) {}

Tensor Dense::operator()(const Tensor& x, Site site) const {
  const std::int64_t inputs = weight.shape()[0];
  if (x.rank(site) == 0 || x.shape()[x.rank() - 1] != inputs) {
    throw ShapeError(
        text("Dense: the last axis must have the ", inputs, " inputs of the layer; the shape is ", to_string(x.shape())), site);
  }
  if (bias) return linear(x, weight.value(site), bias->value(site), site);
  if (x.rank() == 2) return matmul(x, weight.value(site), site);
  // Leading axes as one: the weight is then one matrix for the product and for its gradient.
  const Tensor y = matmul(reshape(x, {-1, inputs}, site), weight.value(site), site);
  Shape shape = x.shape();
  shape[shape.size() - 1] = weight.shape()[1];
  return reshape(y, shape, site);
}

Conv2D::Conv2D(std::int64_t channels_in, std::int64_t channels_out, Size2d kernel, const Conv2DOptions& options, Site site)
    : weight(options.weights({channels_out, channels_in / std::max<std::int64_t>(1, options.groups), kernel.height, kernel.width},
                             options.dtype, site),
             site),
      bias(bias_of(options.bias, channels_out, options.dtype, site)),
      window{.stride = options.stride, .padding = options.padding, .dilation = options.dilation, .groups = options.groups} {}

Tensor Conv2D::operator()(const Tensor& x, Site site) const {
  return conv2d(x, weight.value(site), bias ? bias->value(site) : Tensor(), window, site);
}

Embedding::Embedding(std::int64_t entries, std::int64_t features, const EmbeddingOptions& options, Site site)
    : weight(options.weights({entries, features}, options.dtype, site), site) {}

Tensor Embedding::operator()(const Tensor& indices, Site site) const { return embedding(weight.value(site), indices, site); }

LayerNorm::LayerNorm(std::int64_t features, double epsilon_, DType dtype, Site site)
    : weight(ones({features}, dtype, site), site), bias(zeros({features}, dtype, site), site), epsilon(epsilon_) {}

Tensor LayerNorm::operator()(const Tensor& x, Site site) const {
  return layer_norm(x, weight.value(site), bias.value(site), {.axes = 1, .epsilon = epsilon}, site);
}

BatchNorm::BatchNorm(std::int64_t channels, const BatchNormOptions& given, Site site)
    : weight(ones({channels}, given.dtype, site), site),
      bias(zeros({channels}, given.dtype, site), site),
      running_mean(zeros({channels}, dtype_of_statistics(given.dtype), site), site),
      running_var(ones({channels}, dtype_of_statistics(given.dtype), site), site),
      options(given) {
  running_mean.set_trainable(false);
  running_var.set_trainable(false);
}

Tensor BatchNorm::operator()(const Tensor& x, Site site) const {
  const std::int64_t channels = weight.shape()[0];
  if (x.rank(site) < 2 || x.shape()[1] != channels) {
    throw ShapeError(text("BatchNorm: the second axis must have the ", channels, " channels of the layer; the shape is ",
                          to_string(x.shape())),
                     site);
  }
  Shape per_channel{1, channels};
  Dims axes{0};
  for (std::size_t i = 2; i < x.rank(); ++i) {
    per_channel.push_back(1);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const auto as_channels = [&](const Tensor& y) { return reshape(y, per_channel, site); };
  Tensor middle = running_mean.value(site);
  Tensor variance = running_var.value(site);
  // In f16 squares overflow, and so do the sums in the gradients.
  const Tensor wide = cast(x, promote(x.dtype(), running_mean.dtype()), site);
  if (is_training() && !running_mean.cell()->is_frozen()) {
    const auto count = static_cast<double>(x.size()) / static_cast<double>(std::max<std::int64_t>(1, channels));
    middle = mean(wide, axes, {}, site);
    variance = mean(square(subtract(wide, as_channels(middle), site), site), axes, {}, site);
    const auto follow = [&](const Variable& kept, const Tensor& seen, double scale) {
      const Tensor fixed = cast(stop_gradient(seen, site), kept.dtype(), site);
      kept.assign(
          add(multiply(kept.value(site), 1 - options.momentum, site), multiply(fixed, options.momentum * scale, site), site),
          site);
    };
    follow(running_mean, middle, 1);
    follow(running_var, variance, count > 1 ? count / (count - 1) : 1);  // of the population, as PyTorch keeps it
  }
  const Tensor scale = divide(weight.value(site), sqrt(add(variance, options.epsilon, site), site), site);
  const Tensor shift = subtract(bias.value(site), multiply(middle, scale, site), site);
  const Tensor y = add(multiply(wide, as_channels(scale), site), as_channels(shift), site);
  return cast(y, promote(x.dtype(), weight.dtype()), site);
}

Tensor Dropout::operator()(const Tensor& x, Site site) const {
  if (!is_training() || p == 0) return x;
  return dropout(x, p, {.generator = generator}, site);
}

MultiHeadAttention::MultiHeadAttention(std::int64_t features, std::int64_t heads_, const AttentionOptions& given, Site site)
    : query(features, features, {.bias = given.bias, .dtype = given.dtype}, site),
      key(features, features, {.bias = given.bias, .dtype = given.dtype}, site),
      value(features, features, {.bias = given.bias, .dtype = given.dtype}, site),
      out(features, features, {.bias = given.bias, .dtype = given.dtype}, site),
      heads(heads_),
      options(given) {
  if (heads < 1 || features % heads != 0)
    throw InvalidArgument(text("MultiHeadAttention: ", heads, " heads cannot share ", features, " features evenly"), site);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& mask, Site site) const {
  if (x.rank(site) != 3)
    throw ShapeError(text("MultiHeadAttention takes (batch, length, features); the shape is ", to_string(x.shape())), site);
  const std::int64_t batch = x.shape()[0];
  const std::int64_t length = x.shape()[1];
  const std::int64_t features = x.shape()[2];
  const auto by_heads = [&](const Tensor& y) {
    return permute_dims(reshape(y, {batch, length, heads, features / heads}, site), {0, 2, 1, 3}, site);
  };
  const Tensor seen = scaled_dot_product_attention(by_heads(query(x, site)), by_heads(key(x, site)), by_heads(value(x, site)),
                                                   {.causal = options.causal, .mask = mask}, site);
  const Tensor joined = reshape(permute_dims(seen, {0, 2, 1, 3}, site), {batch, length, features}, site);
  return out(Dropout{.p = options.dropout}(joined, site), site);
}

Tensor Sequential::operator()(const Tensor& x, Site site) const {
  Tensor y = x;
  for (const auto& step : steps_) y = step->run(y, site);
  return y;
}

}  // namespace tutti
