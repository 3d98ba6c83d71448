#include "tutti/ops/neural.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/executor.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/ops/axis_last.h"
#include "tutti/ops/columns.h"
#include "tutti/ops/draw.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/on_host.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/repeats.h"
#include "tutti/ops/turned.h"

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

OpDefinition line_op(const char* name, const char* function, Infer infer) {
  return {.name = name, .function = function, .infer = infer, .takes = floating_dtypes};
}
const OpRow& softmax_row = register_op(line_op("Softmax", "softmax", infer_softmax));
const OpRow& log_softmax_row = register_op(line_op("LogSoftmax", "log_softmax", infer_softmax));
const OpRow& layer_norm_row = register_op(line_op("LayerNorm", "layer_norm", infer_layer_norm));
const OpRow& cross_entropy_row =
    register_op(line_op("SparseSoftmaxCrossEntropyWithLogits", "cross_entropy", infer_cross_entropy));
const OpRow& mean_loss_row = register_op(line_op("CrossEntropyMean", "cross_entropy", infer_mean_loss));
const OpRow& dropout_row = register_op(line_op("Dropout", "dropout", infer_like_input));
const OpRow& one_hot_row = register_op({.name = "OneHot", .function = "one_hot", .infer = infer_one_hot, .takes = index_dtypes});

// A strip of columns is gone through several times: longer ones would not stay in the cache.
constexpr detail::ColumnLimits softmax_limits{.longest_on_host = 4096, .longest_elsewhere = 4096, .fewest_elsewhere = 2048};

// Of a line of equal elements: their differences are 0, or NaN.
Tensor softmax_of_equals(const Tensor& x, std::size_t axis, bool is_log, Site site) {
  const Tensor once = detail::once_along(x, 1U << axis, site);
  const Tensor apart = subtract(once, once, site);
  const auto count = static_cast<double>(x.shape()[axis]);
  return broadcast_to(is_log ? subtract(apart, std::log(count), site) : add(apart, 1 / count, site), x.shape(), site);
}

Tensor run_softmax(const OpRow& row, const Tensor& x, std::int64_t given_axis, Site site) {
  const std::size_t axis = checked_axis(given_axis, x.rank(site), site);
  if (is_floating(x.dtype()) && detail::repeats_along(x, 1U << axis, site)) [[unlikely]]
    return softmax_of_equals(x, axis, &row == &log_softmax_row, site);
  return detail::once_per_line(x, axis, site, [&](const Tensor& once) {
    return detail::along_axis(once, axis, softmax_limits, site, [&](const Tensor& operand, std::int32_t after) {
      OpCall call(row, site);
      call.add(operand);
      call.attributes = Attributes(SoftmaxAttributes{after});
      execute(call);
      return std::move(call.outputs[0]);
    });
  });
}

// Whether it is not there, or as inference wants it.
bool is_parameter_of(const Tensor& x, const Tensor& parameter, std::uint32_t axes) {
  if (!parameter.is_defined()) return true;
  const auto count = static_cast<std::size_t>(std::popcount(axes));
  return parameter.dtype() == x.dtype() && parameter.shape() == Shape(x.shape().view().last(count));
}

// layer_norm of lines of equal elements: nothing is left but the bias.
Tensor layer_norm_of_equals(const Tensor& x, std::uint32_t axes, const Tensor& weight, const Tensor& bias, double epsilon,
                            Site site) {
  const Tensor once = detail::once_along(x, axes, site);
  Tensor out = broadcast_to(subtract(once, once, site), x.shape(), site);
  if (epsilon == 0) out = add(out, std::numeric_limits<double>::quiet_NaN(), site);  // 0 / 0
  if (weight.is_defined()) out = multiply(out, weight, site);
  return bias.is_defined() ? add(out, bias, site) : out;
}

Tensor with_labels(const OpRow& row, const Tensor& x, const Tensor& labels, const CrossEntropyAttributes& attributes, Site site) {
  OpCall call(row, site);
  call.add(x);
  call.add(labels);
  call.attributes = Attributes(attributes);
  execute(call);
  return std::move(call.outputs[0]);
}

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t axis, Site site) { return run_softmax(softmax_row, x, axis, site); }
Tensor log_softmax(const Tensor& x, std::int64_t axis, Site site) { return run_softmax(log_softmax_row, x, axis, site); }

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const LayerNormOptions& options, Site site) {
  if (options.axes < 1 || options.axes > static_cast<std::int64_t>(x.rank(site)))
    throw ShapeError(
        text("layer_norm: x of shape ", to_string(x.shape()), " cannot be normalised over its last ", options.axes, " axes"),
        site);
  // Lines that are one in memory are worked on once.
  const std::uint32_t normalised = detail::last_axes(x, static_cast<std::size_t>(options.axes));
  const std::uint32_t repeated = detail::repeated_axes(x) & ~normalised;
  if (repeated != 0) [[unlikely]]
    return broadcast_to(layer_norm(detail::once_along(x, repeated, site), weight, bias, options, site), x.shape(), site);
  const bool fits = is_parameter_of(x, weight, normalised) && is_parameter_of(x, bias, normalised);
  if (is_floating(x.dtype()) && fits && detail::repeats_along(x, normalised, site)) [[unlikely]]
    return layer_norm_of_equals(x, normalised, weight, bias, options.epsilon, site);
  OpCall call(layer_norm_row, site);
  call.add(x);
  if (weight.is_defined()) call.add(weight);
  if (bias.is_defined()) call.add(bias);
  call.attributes = Attributes(
      LayerNormAttributes{options.epsilon, static_cast<std::int32_t>(options.axes), weight.is_defined(), bias.is_defined()});
  execute(call);
  return std::move(call.outputs[0]);
}

Tensor embedding(const Tensor& weight, const Tensor& indices, Site site) { return take(weight, indices, 0, site); }

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
  // Which elements are dropped depends on their numbers in row order, not on where they lie.
  std::optional<detail::Turned> turned = detail::turned(x, site);
  // On the host a copy to row order costs less than drawing words down short columns.
  if (turned && detail::is_on_host(x, site)) turned.reset();
  const detail::TurnedMatrix matrix = turned ? transposed_matrices(*turned) : detail::TurnedMatrix{};
  constexpr std::int64_t most_elements = std::int64_t{1} << 32;  // the device counts fours of them in 31 bits
  if (matrix.rows % detail::words_of_block != 0 || x.size() >= most_elements) turned.reset();
  const auto [key, counter] = detail::numbers_for({"dropout", options}, x.size(), detail::words_of_block, site);
  DropoutAttributes attributes{key, counter, static_cast<std::uint64_t>(std::llround(p * 0x1p32)), p < 1 ? 1 / (1 - p) : 0};
  if (turned) {
    attributes.rows = matrix.rows;
    attributes.columns = matrix.columns;
  }
  OpCall call(dropout_row, site);
  call.add(turned ? turned->rows : x);
  call.attributes = Attributes(attributes);
  execute(call);
  return turned ? turned->back(call.outputs[0], site) : std::move(call.outputs[0]);
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
  execute(call);
  return std::move(call.outputs[0]);
}

}  // namespace tutti
