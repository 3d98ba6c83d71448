#include "tutti/ops/neural.h"

#include <cmath>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/ops/arrange.h"
#include "tutti/ops/axis_last.h"
#include "tutti/ops/draw.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/reduction.h"

namespace tutti {

namespace {

void infer_like_input(Inference& in) {
  in.expect_inputs(1);
  in.output(in.dtype(0), in.shape(0));
}

void infer_softmax(Inference& in) {
  in.expect_inputs(1);
  const std::int32_t after = in.attributes<SoftmaxAttributes>().after;
  if (after < 0 || static_cast<std::size_t>(after) >= in.shape(0).size()) in.reject_shapes("it has no such axis to run along");
  in.output(in.dtype(0), in.shape(0));
}

void infer_layer_norm(Inference& in) {
  const auto attributes = in.attributes<LayerNormAttributes>();
  in.expect_inputs(std::size_t{1} + (attributes.has_weight ? 1 : 0) + (attributes.has_bias ? 1 : 0));
  const Shape& x = in.shape(0);
  const auto axes = static_cast<std::size_t>(attributes.axes);
  if (attributes.axes < 1 || axes > x.size()) in.reject_shapes(text("it cannot be normalised over the last ", axes, " axes"));
  const Shape normalised(x.view().last(axes));
  for (std::size_t i = 1; i < in.inputs(); ++i) {
    if (in.dtype(i) != in.dtype(0)) in.reject_dtypes("weight and bias must have the dtype of x");
    if (!(in.shape(i) == normalised))
      in.reject_shapes(text("weight and bias must have the shape that is normalised over, ", to_string(normalised)));
  }
  in.output(in.dtype(0), x);
}

void check_labels(Inference& in) {
  in.expect_inputs(2);
  if (!index_dtypes.contains(in.dtype(1))) in.reject_dtypes("the labels must be int32 or int64");
}

// The classes come last.
void infer_cross_entropy(Inference& in) {
  check_labels(in);
  if (in.shape(0).empty()) in.reject_shapes("the logits need an axis of classes");
  const Shape lines(in.shape(0).view().first(in.shape(0).size() - 1));
  if (!(in.shape(1) == lines)) in.reject_shapes("the labels must have the axes of the logits but for the classes");
  in.output(in.dtype(0), lines);
}

void infer_mean_loss(Inference& in) {
  check_labels(in);
  if (!(in.shape(0) == in.shape(1))) in.reject_shapes("there must be as many losses as labels");
  in.output(in.dtype(0), Shape{});
}

void infer_one_hot(Inference& in) {
  in.expect_inputs(1);
  const auto attributes = in.attributes<OneHotAttributes>();
  if (in.shape(0).size() == most_axes) in.reject_shapes("the result would have more than 8 axes");
  Shape out = in.shape(0);
  out.push_back(attributes.depth);
  in.output(static_cast<DType>(attributes.dtype), out);
}

// A strip of columns is gone through several times: longer ones would not stay in the cache.
constexpr detail::ColumnLimits softmax_limits{.longest_on_cpu = 4096, .longest_elsewhere = 4096, .fewest_elsewhere = 2048};

OpDefinition line_op(const char* name, const char* function, Infer infer) {
  return {.name = name, .function = function, .infer = infer, .takes = floating_dtypes};
}
OpDefinition softmax_op(const char* name, const char* function) {
  OpDefinition op = line_op(name, function, infer_softmax);
  op.arrange = detail::arrange_lines<SoftmaxAttributes, softmax_limits>;
  return op;
}
const OpRow& softmax_row = register_op(softmax_op("Softmax", "softmax"));
const OpRow& log_softmax_row = register_op(softmax_op("LogSoftmax", "log_softmax"));
const OpRow& layer_norm_row = register_op(line_op("LayerNorm", "layer_norm", infer_layer_norm));
const OpRow& cross_entropy_row =
    register_op(line_op("SparseSoftmaxCrossEntropyWithLogits", "cross_entropy", infer_cross_entropy));
const OpRow& mean_loss_row = register_op(line_op("CrossEntropyMean", "cross_entropy", infer_mean_loss));
const OpRow& dropout_row = register_op(line_op("Dropout", "dropout", infer_like_input));
const OpRow& one_hot_row = register_op({.name = "OneHot", .function = "one_hot", .infer = infer_one_hot, .takes = index_dtypes});

Tensor run_softmax(const OpRow& row, const Tensor& x, std::int64_t axis, Site site) {
  const std::size_t along = checked_axis(row.function.c_str(), axis, x.rank(site), site);
  OpCall call(row, site);
  call.add(x);
  call.attributes = Attributes(SoftmaxAttributes{static_cast<std::int32_t>(x.rank() - 1 - along)});
  return dispatch_one(call);
}

Tensor with_labels(const OpRow& row, const Tensor& x, const Tensor& labels, const CrossEntropyAttributes& attributes, Site site) {
  OpCall call(row, site);
  call.add(x);
  call.add(labels);
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t axis, Site site) { return run_softmax(softmax_row, x, axis, site); }
Tensor log_softmax(const Tensor& x, std::int64_t axis, Site site) { return run_softmax(log_softmax_row, x, axis, site); }

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const LayerNormOptions& options, Site site) {
  if (options.axes < 1 || options.axes > static_cast<std::int64_t>(x.rank(site)))
    throw ShapeError(
        text("layer_norm: x of shape ", to_string(x.shape()), " cannot be normalised over its last ", options.axes, " axes"),
        site);
  OpCall call(layer_norm_row, site);
  call.add(x);
  if (weight.is_defined()) call.add(weight);
  if (bias.is_defined()) call.add(bias);
  call.attributes = Attributes(
      LayerNormAttributes{options.epsilon, static_cast<std::int32_t>(options.axes), weight.is_defined(), bias.is_defined()});
  return dispatch_one(call);
}

Tensor embedding(const Tensor& weight, const Tensor& indices, Site site) {
  return detail::take_as("embedding", weight, indices, 0, site);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options, Site site) {
  if (logits.rank(site) == 0) throw ShapeError("cross_entropy: the logits need an axis of classes; they are a scalar", site);
  const CrossEntropyAttributes attributes{options.ignore_index.value_or(0), options.ignore_index.has_value()};
  const Tensor lines = detail::axis_last(logits, logits.rank() > 1 ? 1 : 0, site);
  Tensor losses = with_labels(cross_entropy_row, lines, labels, attributes, site);
  if (options.reduction == LossReduction::none) return losses;
  if (options.reduction == LossReduction::sum) return sum(losses, site);
  return with_labels(mean_loss_row, losses, labels, attributes, site);
}

Tensor dropout(const Tensor& x, double p, const DropoutOptions& options, Site site) {
  if (!(p >= 0 && p <= 1)) throw InvalidArgument(text("dropout: the probability must lie between 0 and 1, not be ", p), site);
  OpCall call(dropout_row, site);
  call.add(x);
  const DropoutAttributes attributes{.dropped = static_cast<std::uint64_t>(std::llround(p * 0x1p32)),
                                     .scale = p < 1 ? 1 / (1 - p) : 0};
  detail::set_numbers(call, attributes, {"dropout", options}, x.size(site), detail::words_of_block);
  return dispatch_one(call);
}

Tensor one_hot(const Tensor& indices, std::int64_t depth, const OneHotOptions& options, Site site) {
  if (depth < 0) throw ShapeError(text("one_hot: the depth must not be negative; it is ", depth), site);
  if (!options.on.is_number() || !options.off.is_number())
    throw InvalidArgument("one_hot: `on` and `off` must be numbers, not tensors", site);
  OneHotAttributes attributes{.depth = depth, .dtype = static_cast<std::uint8_t>(options.dtype)};
  attributes.on = detail::scalar_input(options.on.number(), options.dtype, site).scalar;
  attributes.off = detail::scalar_input(options.off.number(), options.dtype, site).scalar;
  OpCall call(one_hot_row, site);
  call.add(indices);
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

}  // namespace tutti
