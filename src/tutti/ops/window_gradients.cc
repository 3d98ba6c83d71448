// The gradients of convolutions and pooling, as rows of their own. Those of convolutions are each other's rules: the three are
// linear in either operand.
#include "tutti/exec/dispatch.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/image_layout.h"

namespace tutti {

namespace {

Shape outputs_of(const WindowAttributes& window, std::int64_t batch, std::int64_t channels) {
  return detail::image_shape(batch, channels, window.y.outputs, window.x.outputs, window.channels_last);
}
Shape images_of(const WindowAttributes& window, std::int64_t batch, std::int64_t channels) {
  return detail::image_shape(batch, channels, window.y.size, window.x.size, window.channels_last);
}

// (weight, gradient of the outputs) -> gradient of the images
void infer_of_images(Inference& in) {
  const auto [window, groups, tf32, deterministic] = in.attributes<ConvolutionAttributes>();
  in.expect_inputs(2);
  const Shape& weight = in.shape(0);
  const Shape& g = in.shape(1);
  const auto [c, h, w] = ImageAxes(window.channels_last);
  const bool fits = weight.size() == 4 && g.size() == 4 && groups > 0 && weight[0] % groups == 0 &&
                    weight[h] == window.y.kernel && weight[w] == window.x.kernel && g == outputs_of(window, g[0], weight[0]);
  if (!fits) in.reject_shapes("it takes a weight and outputs of the sizes its window was made for");
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both must have one dtype");
  in.output(in.dtype(0), images_of(window, g[0], weight[c] * groups));
}

// (images, gradient of the outputs) -> gradient of the weight
void infer_of_weight(Inference& in) {
  const auto [window, groups, tf32, deterministic] = in.attributes<ConvolutionAttributes>();
  in.expect_inputs(2);
  const Shape& x = in.shape(0);
  const Shape& g = in.shape(1);
  const std::size_t c = ImageAxes(window.channels_last).channels;
  const bool fits = x.size() == 4 && g.size() == 4 && groups > 0 && x[c] % groups == 0 && g[c] % groups == 0 &&
                    x == images_of(window, x[0], x[c]) && g == outputs_of(window, x[0], g[c]);
  if (!fits) in.reject_shapes("it takes images and outputs of the sizes its window was made for");
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both must have one dtype");
  in.output(in.dtype(0), detail::image_shape(g[c], x[c] / groups, window.y.kernel, window.x.kernel, window.channels_last));
}

// Of average pooling: the gradient of the outputs alone says what that of the images is.
void infer_avg_pool_grad(Inference& in) {
  const auto window = in.attributes<WindowAttributes>();
  in.expect_inputs(1);
  const Shape& g = in.shape(0);
  const std::size_t c = ImageAxes(window.channels_last).channels;
  if (g.size() != 4 || !(g == outputs_of(window, g[0], g[c]))) in.reject_shapes("the window gives outputs of another size");
  in.output(in.dtype(0), images_of(window, g[0], g[c]));
}

// (images, gradient of the outputs) -> gradient of the images
void infer_max_pool_grad(Inference& in) {
  const auto window = in.attributes<WindowAttributes>();
  in.expect_inputs(2);
  const Shape& x = in.shape(0);
  const std::size_t c = ImageAxes(window.channels_last).channels;
  if (x.size() != 4 || !(x == images_of(window, x[0], x[c])) || !(in.shape(1) == outputs_of(window, x[0], x[c])))
    in.reject_shapes("it takes images and outputs of the sizes its window was made for");
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both must have one dtype");
  in.output(in.dtype(0), x);
}

// (images, others like them) -> of the others, what stands where the images have the largest of each window
void infer_max_pool_picked(Inference& in) {
  const auto window = in.attributes<WindowAttributes>();
  in.expect_inputs(2);
  const Shape& x = in.shape(0);
  const std::size_t c = ImageAxes(window.channels_last).channels;
  if (x.size() != 4 || !(x == images_of(window, x[0], x[c])) || !(in.shape(1) == x))
    in.reject_shapes("it takes images of the size its window was made for, and others like them");
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both must have one dtype");
  in.output(in.dtype(0), outputs_of(window, x[0], x[c]));
}

template <class Attributes>
const OpRow& gradient_row(const char* name, const char* function, Infer infer) {
  return register_op({.name = name,
                      .function = function,
                      .infer = infer,
                      .takes = floating_dtypes,
                      .arrange = detail::arrange_images<Attributes>});
}
const OpRow& of_images_row = gradient_row<ConvolutionAttributes>("Conv2DBackpropInput", "conv2d", infer_of_images);
const OpRow& of_weight_row = gradient_row<ConvolutionAttributes>("Conv2DBackpropFilter", "conv2d", infer_of_weight);
const OpRow& max_pool_grad_row = gradient_row<WindowAttributes>("MaxPoolGrad", "max_pool2d", infer_max_pool_grad);
const OpRow& max_pool_picked_row = gradient_row<WindowAttributes>("MaxPoolGradGrad", "max_pool2d", infer_max_pool_picked);
const OpRow& avg_pool_grad_row = gradient_row<WindowAttributes>("AvgPoolGrad", "avg_pool2d", infer_avg_pool_grad);

// A row with the attributes of the call whose rule this is.
Tensor again(const OpRow& row, const Tensor& a, const Tensor& b, const GradientCall& from) {
  OpCall call(row, from.site);
  call.add(a);
  if (b.is_defined()) call.add(b);
  call.attributes = from.attributes;
  return dispatch_one(call);
}
const OpRow& forward_row() {
  static const OpRow& row = find_op("Conv2D");
  return row;
}

void convolution_rule(GradientCall& call) {
  if (call.wants(0)) call.give(0, again(of_images_row, call.input(1), call.gradient(), call));
  if (call.wants(1)) call.give(1, again(of_weight_row, call.input(0), call.gradient(), call));
}
void of_images_rule(GradientCall& call) {
  if (call.wants(0)) call.give(0, again(of_weight_row, call.gradient(), call.input(1), call));
  if (call.wants(1)) call.give(1, again(forward_row(), call.gradient(), call.input(0), call));
}
void of_weight_rule(GradientCall& call) {
  if (call.wants(0)) call.give(0, again(of_images_row, call.gradient(), call.input(1), call));
  if (call.wants(1)) call.give(1, again(forward_row(), call.input(0), call.gradient(), call));
}

// Of several largest in a window the first counts, as PyTorch has it; which one that is changes in steps.
void max_pool_rule(GradientCall& call) { call.give(0, again(max_pool_grad_row, call.input(0), call.gradient(), call)); }
void max_pool_grad_rule(GradientCall& call) {
  if (call.wants(1)) call.give(1, again(max_pool_picked_row, call.input(0), call.gradient(), call));
}
void max_pool_picked_rule(GradientCall& call) {
  if (call.wants(1)) call.give(1, again(max_pool_grad_row, call.input(0), call.gradient(), call));
}

void avg_pool_rule(GradientCall& call) { call.give(0, again(avg_pool_grad_row, call.gradient(), {}, call)); }
void avg_pool_grad_rule(GradientCall& call) {
  static const OpRow& row = find_op("AvgPool");
  call.give(0, again(row, call.gradient(), {}, call));
}

[[maybe_unused]] const bool window_rules[] = {
    register_gradient("Conv2D", {.apply = convolution_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("Conv2DBackpropInput", {.apply = of_images_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("Conv2DBackpropFilter", {.apply = of_weight_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("MaxPool", {.apply = max_pool_rule, .reads_inputs = reads::first}),
    register_gradient("MaxPoolGrad", {.apply = max_pool_grad_rule, .reads_inputs = reads::first}),
    register_gradient("MaxPoolGradGrad", {.apply = max_pool_picked_rule, .reads_inputs = reads::first}),
    register_gradient("AvgPool", {.apply = avg_pool_rule}),
    register_gradient("AvgPoolGrad", {.apply = avg_pool_grad_rule}),
};

}  // namespace

}  // namespace tutti
