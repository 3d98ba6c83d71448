// The gradients of normalisations, losses and dropout.
#include "tutti/exec/dispatch.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/draw.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/math.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/neural.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scatter.h"

namespace tutti {

namespace {

std::int64_t axis_of_softmax(const GradientCall& call) { return -1 - call.as<SoftmaxAttributes>().after; }

void softmax_rule(GradientCall& call) {
  const Tensor weighted = multiply(call.gradient(), call.output(), call.site);
  const Tensor total = sum(weighted, axis_of_softmax(call), {.keepdims = true}, call.site);
  call.give(0, subtract(weighted, multiply(call.output(), total, call.site), call.site));
}
void log_softmax_rule(GradientCall& call) {
  const Tensor total = sum(call.gradient(), axis_of_softmax(call), {.keepdims = true}, call.site);
  call.give(0, subtract(call.gradient(), multiply(exp(call.output(), call.site), total, call.site), call.site));
}

// Those of x, of the weight and of the bias of a layer norm, in one pass over x and the gradient of its result.
void infer_layer_norm_gradient(Inference& in) {
  const auto attributes = in.attributes<LayerNormAttributes>();
  in.expect_inputs(attributes.has_weight ? 3 : 2);
  for (std::size_t i = 1; i < in.inputs(); ++i)
    if (in.dtype(i) != in.dtype(0)) in.reject_dtypes("all of them must have the dtype of x");
  if (attributes.axes < 1 || static_cast<std::size_t>(attributes.axes) > in.shape(0).size() || !(in.shape(1) == in.shape(0)))
    in.reject_shapes("the gradient must have the shape of x");
  const Shape normalised(in.shape(0).view().last(static_cast<std::size_t>(attributes.axes)));
  if (attributes.has_weight && !(in.shape(2) == normalised))
    in.reject_shapes("the weight must have the shape that is normalised over");
  in.output(in.dtype(0), in.shape(0));
  if (attributes.has_weight) in.output(in.dtype(0), normalised);
  if (attributes.has_bias) in.output(in.dtype(0), normalised);
}
void layer_norm_gradient_rule(GradientCall& call);
const OpRow& layer_norm_gradient_row =
    register_op({.name = "LayerNormGrad",
                 .function = "layer_norm",
                 .infer = infer_layer_norm_gradient,
                 .takes = floating_dtypes,
                 .gradient = {.apply = layer_norm_gradient_rule, .reads_inputs = reads::every}});

void layer_norm_rule(GradientCall& call) {
  const auto attributes = call.as<LayerNormAttributes>();
  OpCall again(layer_norm_gradient_row, call.site);
  again.add(call.input(0));
  again.add(call.gradient());
  if (attributes.has_weight) again.add(call.input(1));
  again.attributes = call.attributes;
  dispatch(again);
  for (std::size_t i = 0; i < again.outputs.size(); ++i)
    if (call.wants(i)) call.give(i, again.outputs.take(i));
}

// With n = (x - mean) * s, h = g * weight and A(h) = (h - mean(h) - n mean(h n)) * s the op gives A(h), sum(g n) and sum(g). A is
// linear in h and its own transpose.
void layer_norm_gradient_rule(GradientCall& call) {
  const Site site = call.site;
  const auto attributes = call.as<LayerNormAttributes>();
  const Tensor& x = call.input(0);
  const Tensor& g = call.input(1);
  const Tensor& of_x = call.gradient(0);
  const Tensor of_weight = attributes.has_weight ? call.gradient(1) : Tensor();
  const Tensor of_bias = attributes.has_bias ? call.gradient(attributes.has_weight ? 2 : 1) : Tensor();
  Dims axes;
  for (std::int64_t i = -attributes.axes; i < 0; ++i) axes.push_back(i);
  Dims leading;
  for (std::size_t i = 0; i < x.rank() - axes.size(); ++i) leading.push_back(static_cast<std::int64_t>(i));
  const auto mean_of = [&](const Tensor& y) { return mean(y, axes, {.keepdims = true}, site); };
  const auto times = [&](const Tensor& a, const Tensor& b) { return multiply(a, b, site); };
  const auto weighted = [&](const Tensor& y) { return attributes.has_weight ? times(y, call.input(2)) : y; };
  const auto back = [&](const Tensor& y) {
    OpCall again(layer_norm_gradient_row, site);
    again.add(x);
    again.add(y);
    again.attributes = Attributes(LayerNormAttributes{attributes.epsilon, attributes.axes, false, false});
    return dispatch_one(again);
  };
  const auto sum_of = [&](const Tensor& a, const Tensor& b) { return a.is_defined() ? add(a, b, site) : b; };
  const Tensor normal = layer_norm(x, {}, {}, {.axes = attributes.axes, .epsilon = attributes.epsilon}, site);
  const Tensor linear = of_x.is_defined() ? back(of_x) : Tensor();
  if (call.wants(1)) {
    Tensor out;
    if (of_x.is_defined()) out = weighted(linear);
    if (of_weight.is_defined()) out = sum_of(out, times(normal, of_weight));
    if (of_bias.is_defined()) out = sum_of(out, broadcast_to(of_bias, x.shape(), site));
    call.give(1, out);
  }
  if (attributes.has_weight && call.wants(2) && of_x.is_defined()) call.give(2, sum(times(g, linear), leading, {}, site));
  if (!call.wants(0) || !(of_x.is_defined() || of_weight.is_defined())) return;
  Tensor of_normal = of_weight.is_defined() ? times(g, of_weight) : Tensor();
  Tensor of_scale;  // times the square of the scale
  if (of_x.is_defined()) {
    const Tensor variance = mean_of(square(subtract(x, mean_of(x), site), site));
    const Tensor scale = divide(1, sqrt(add(variance, attributes.epsilon, site), site), site);
    const Tensor h = weighted(g);
    const Tensor along = mean_of(times(h, normal));
    const Tensor other_along = mean_of(times(of_x, normal));
    of_normal = sum_of(of_normal, negative(times(scale, add(times(of_x, along), times(h, other_along), site)), site));
    const Tensor apart = subtract(mean_of(times(of_x, h)), times(mean_of(of_x), mean_of(h)), site);
    of_scale = times(square(scale, site), subtract(apart, times(other_along, along), site));
  }
  const Tensor through_normal = back(of_normal);
  call.give(0, of_scale.is_defined() ? subtract(through_normal, times(normal, of_scale), site) : through_normal);
}

// (softmax(logits) less 1 at the label) times the line's factor, in one pass; nothing where the label is ignored. The factors may
// be broadcast; logits and labels are dense.
void infer_cross_entropy_gradient(Inference& in) {
  in.expect_inputs(3);
  if (!index_dtypes.contains(in.dtype(1)) || in.dtype(2) != in.dtype(0))
    in.reject_dtypes("the labels must be int32 or int64, the factors of the logits' dtype");
  const Shape lines(in.shape(0).view().first(in.shape(0).size() - 1));
  if (!(in.shape(1) == lines) || !(in.shape(2) == lines)) in.reject_shapes("there must be a label and a factor for each line");
  in.output(in.dtype(0), in.shape(0));
}
void cross_entropy_gradient_rule(GradientCall& call);
const OpRow& cross_entropy_gradient_row =
    register_op({.name = "SparseSoftmaxCrossEntropyGrad",
                 .function = "cross_entropy",
                 .infer = infer_cross_entropy_gradient,
                 .strided = true,
                 .takes = floating_dtypes,
                 .gradient = {.apply = cross_entropy_gradient_rule, .reads_inputs = reads::every}});

Tensor cross_entropy_gradient(const GradientCall& call, const Tensor& factors) {
  OpCall again(cross_entropy_gradient_row, call.site);
  const Tensor logits = contiguous(call.input(0), call.site);
  const Tensor labels = contiguous(call.input(1), call.site);
  again.add(logits);
  again.add(labels);
  again.add(factors);
  again.attributes = call.attributes;
  return dispatch_one(again);
}
void cross_entropy_rule(GradientCall& call) { call.give(0, cross_entropy_gradient(call, call.gradient())); }
void cross_entropy_gradient_rule(GradientCall& call) {
  const Site site = call.site;
  const auto attributes = call.as<CrossEntropyAttributes>();
  if (call.wants(2)) {
    const Tensor unscaled = cross_entropy_gradient(call, ones_like(call.input(2), {}, site));
    call.give(2, sum(multiply(call.gradient(), unscaled, site), -1, {}, site));
  }
  if (!call.wants(0)) return;
  Tensor factors = call.input(2);
  if (attributes.has_ignore_index) factors = where(equal(call.input(1), attributes.ignore_index, site), 0, factors, site);
  const Tensor shares = softmax(call.input(0), -1, site);
  const Tensor weighted = multiply(multiply(call.gradient(), shares, site), expand_dims(factors, -1, site), site);
  call.give(0, subtract(weighted, multiply(shares, sum(weighted, -1, {.keepdims = true}, site), site), site));
}
void mean_loss_rule(GradientCall& call) {
  const Site site = call.site;
  const auto attributes = call.as<CrossEntropyAttributes>();
  if (!attributes.has_ignore_index) {
    const auto count = static_cast<double>(*element_count(call.shape(0)));
    return call.give(0, broadcast_to(divide(call.gradient(), count, site), call.shape(0), site));
  }
  const Tensor counts = cast(not_equal(call.input(1), attributes.ignore_index, site), call.inputs[0].dtype, site);
  call.give(0, multiply(counts, divide(call.gradient(), sum(counts, site), site), site));
}

// The same elements are dropped: the tape has kept the numbers that were drawn.
void dropout_rule(GradientCall& call) {
  OpCall again(call.op, call.site);
  again.add(call.gradient());
  again.attributes = call.attributes;
  again.draw.repeats = dynamic_cast<const detail::FromGenerator*>(call.data) != nullptr;
  call.give(0, dispatch_one(again));
}

[[maybe_unused]] const bool neural_rules[] = {
    register_gradient("Softmax", {.apply = softmax_rule, .reads_outputs = reads::first}),
    register_gradient("LogSoftmax", {.apply = log_softmax_rule, .reads_outputs = reads::first}),
    register_gradient("LayerNorm", {.apply = layer_norm_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("SparseSoftmaxCrossEntropyWithLogits",
                      {.apply = cross_entropy_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("CrossEntropyMean", {.apply = mean_loss_rule, .reads_inputs = reads::second}),
    register_gradient("Dropout", {.apply = dropout_rule}),
};

}  // namespace

}  // namespace tutti
