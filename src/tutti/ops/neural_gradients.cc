// The gradients of normalisations, losses, dropout, convolution and pooling.
#include "tutti/exec/dispatch.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/math.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/neural.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scatter.h"
#include "tutti/ops/unfold.h"

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

void layer_norm_rule(GradientCall& call) {
  const Site site = call.site;
  const auto attributes = call.as<LayerNormAttributes>();
  const Tensor& x = call.input(0);
  Dims axes;
  for (std::int64_t i = -attributes.axes; i < 0; ++i) axes.push_back(i);
  Dims leading;
  for (std::size_t i = 0; i + static_cast<std::size_t>(attributes.axes) < x.rank(); ++i)
    leading.push_back(static_cast<std::int64_t>(i));
  const Tensor centred = subtract(x, mean(x, axes, {.keepdims = true}, site), site);
  const Tensor variance = mean(square(centred, site), axes, {.keepdims = true}, site);
  const Tensor scale = divide(1, sqrt(add(variance, attributes.epsilon, site), site), site);
  const Tensor normal = multiply(centred, scale, site);
  const Tensor& g = call.gradient();
  const std::size_t weight = 1;
  const std::size_t bias = attributes.has_weight ? 2 : 1;
  if (attributes.has_weight && call.wants(weight)) call.give(weight, sum(multiply(g, normal, site), leading, {}, site));
  if (attributes.has_bias && call.wants(bias)) call.give(bias, sum(g, leading, {}, site));
  if (!call.wants(0)) return;
  const Tensor of_normal = attributes.has_weight ? multiply(g, call.input(weight), site) : g;
  const Tensor middle = mean(of_normal, axes, {.keepdims = true}, site);
  const Tensor along = mean(multiply(of_normal, normal, site), axes, {.keepdims = true}, site);
  const Tensor rest = subtract(subtract(of_normal, middle, site), multiply(normal, along, site), site);
  call.give(0, multiply(rest, scale, site));
}

// softmax(logits) less 1 at the label; nothing where the label is ignored.
void cross_entropy_rule(GradientCall& call) {
  const Site site = call.site;
  const auto attributes = call.as<CrossEntropyAttributes>();
  const Tensor& logits = call.input(0);
  Tensor labels = call.input(1);
  Tensor g = expand_dims(call.gradient(), -1, site);
  if (attributes.has_ignore_index) {
    const Tensor is_ignored = equal(labels, attributes.ignore_index, site);
    labels = where(is_ignored, 0, labels, site);
    g = where(expand_dims(is_ignored, -1, site), 0, g, site);
  }
  const Tensor hot = one_hot(labels, logits.shape()[logits.rank() - 1], {.dtype = logits.dtype()}, site);
  call.give(0, multiply(subtract(softmax(logits, -1, site), hot, site), g, site));
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
  call.give(0, dispatch_one(again));
}

// Where element (ky, kx) of every window stands: outputs y_first ... y_last - 1, and the same along x.
struct Tap {
  std::int64_t ky = 0;
  std::int64_t kx = 0;
  Range out_y = {};
  Range out_x = {};
  Range in_y = {};
  Range in_x = {};
  bool is_empty = false;
};
Tap tap_of(const WindowAttributes& window, std::int64_t ky, std::int64_t kx) {
  Tap tap{.ky = ky, .kx = kx};
  const auto along = [&](const WindowAxis& axis, std::int64_t k, Range& out, Range& in) {
    const std::int64_t begin = axis.first_inside(k);
    const std::int64_t end = axis.last_inside(k);
    if (end <= begin) {
      tap.is_empty = true;
      return;
    }
    const std::int64_t start = axis.start(begin) + k * axis.dilation;
    out = {begin, end};
    in = {start, start + (end - begin - 1) * axis.stride + 1, axis.stride};
  };
  along(window.y, ky, tap.out_y, tap.in_y);
  along(window.x, kx, tap.out_x, tap.in_x);
  return tap;
}
template <class F>
void each_tap(const WindowAttributes& window, F&& visit) {
  for (std::int64_t ky = 0; ky < window.y.kernel; ++ky) {
    for (std::int64_t kx = 0; kx < window.x.kernel; ++kx) {
      if (const Tap tap = tap_of(window, ky, kx); !tap.is_empty) visit(tap);
    }
  }
}
Tensor seen(const Tensor& images, const Range& y, const Range& x, Site site) {
  return slice(slice(images, 2, y, site), 3, x, site);
}
Tensor added_at(Tensor images, const Tap& tap, const Tensor& more, Site site) {
  return at(std::move(images), {Range{}, Range{}, tap.in_y, tap.in_x}, site).add(more, site);
}

// Back from columns to images: what the windows saw is added up.
Tensor folded(const Tensor& columns, const Shape& images, const WindowAttributes& window, Site site) {
  const Tensor taps =
      reshape(columns, {images[0], images[1], window.y.kernel * window.x.kernel, window.y.outputs, window.x.outputs}, site);
  Tensor out = zeros(images, columns.dtype(), site);
  each_tap(window, [&](const Tap& tap) {
    const Tensor one = index(taps, {Range{}, Range{}, tap.ky * window.x.kernel + tap.kx}, site);
    out = added_at(std::move(out), tap, seen(one, tap.out_y, tap.out_x, site), site);
  });
  return out;
}
void unfold_rule(GradientCall& call) {
  call.give(0, folded(call.gradient(), call.shape(0), call.as<WindowAttributes>(), call.site));
}

void convolution_rule(GradientCall& call) {
  const Site site = call.site;
  const auto [window, groups] = call.as<ConvolutionAttributes>();
  const Shape& images = call.shape(0);
  const Shape& kernel = call.shape(1);
  const std::int64_t places = window.y.outputs * window.x.outputs;
  const std::int64_t column = kernel[1] * kernel[2] * kernel[3];
  const Tensor g = reshape(call.gradient(), {images[0], groups, kernel[0] / groups, places}, site);
  if (call.wants(0)) {
    const Tensor weight = reshape(call.input(1), {groups, kernel[0] / groups, column}, site);
    const Tensor columns = matmul(matrix_transpose(weight, site), g, site);
    call.give(0, folded(reshape(columns, {images[0], images[1] * kernel[2] * kernel[3], places}, site), images, window, site));
  }
  if (call.wants(1)) {
    const Tensor columns = reshape(detail::unfold(call.input(0), window, site), {images[0], groups, column, places}, site);
    const Tensor each = matmul(g, matrix_transpose(columns, site), site);
    call.give(1, reshape(sum(each, 0, {}, site), kernel, site));
  }
}

// Of several largest in a window the first counts, as PyTorch has it.
void max_pool_rule(GradientCall& call) {
  const Site site = call.site;
  const auto window = call.as<WindowAttributes>();
  Tensor out = zeros(call.shape(0), call.inputs[0].dtype, site);
  Tensor left = call.gradient();
  each_tap(window, [&](const Tap& tap) {
    const Tensor x = seen(call.input(0), tap.in_y, tap.in_x, site);
    const Tensor is_largest = equal(x, seen(call.output(), tap.out_y, tap.out_x, site), site);
    const Tensor rest = seen(left, tap.out_y, tap.out_x, site);
    out = added_at(std::move(out), tap, where(is_largest, rest, 0, site), site);
    left = at(std::move(left), {Range{}, Range{}, tap.out_y, tap.out_x}, site).set(where(is_largest, 0, rest, site), site);
  });
  call.give(0, out);
}
void avg_pool_rule(GradientCall& call) {
  const Site site = call.site;
  const auto window = call.as<WindowAttributes>();
  // How many elements each window counts: all of it, or those inside the image.
  const Tensor counts = detail::window_counts(window, call.inputs[0].dtype, site);
  const Tensor share = divide(call.gradient(), counts, site);
  Tensor out = zeros(call.shape(0), call.inputs[0].dtype, site);
  each_tap(window, [&](const Tap& tap) { out = added_at(std::move(out), tap, seen(share, tap.out_y, tap.out_x, site), site); });
  call.give(0, out);
}

[[maybe_unused]] const bool neural_rules[] = {
    register_gradient("Softmax", {.apply = softmax_rule, .reads_outputs = reads::first}),
    register_gradient("LogSoftmax", {.apply = log_softmax_rule, .reads_outputs = reads::first}),
    register_gradient("LayerNorm", {.apply = layer_norm_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("SparseSoftmaxCrossEntropyWithLogits",
                      {.apply = cross_entropy_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("CrossEntropyMean", {.apply = mean_loss_rule, .reads_inputs = reads::second}),
    register_gradient("Dropout", {.apply = dropout_rule}),
    register_gradient("Unfold", {.apply = unfold_rule}),
    register_gradient("Conv2D", {.apply = convolution_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("MaxPool", {.apply = max_pool_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("AvgPool", {.apply = avg_pool_rule}),
};

}  // namespace

}  // namespace tutti
