#include "tutti/ops/window.h"

#include <algorithm>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/deterministic.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/image_layout.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"

namespace tutti {

namespace {

// Columns of a larger batch are made and used a part at a time.
constexpr std::int64_t most_column_bytes = std::int64_t{256} << 20U;

void infer_pool(Inference& in) {
  const auto window = in.attributes<WindowAttributes>();
  in.expect_inputs(1);
  const Shape& x = in.shape(0);
  const ImageAxes axes(window.channels_last);
  if (x.size() != 4) in.reject_shapes("images have four axes: batch, channels, height, width");
  if (x[axes.y] != window.y.size || x[axes.x] != window.x.size)
    in.reject_shapes("the window was made for images of another size");
  in.output(in.dtype(0), detail::image_shape(x[0], x[axes.channels], window.y.outputs, window.x.outputs, window.channels_last));
}

// A column holds what the window sees at one place: channels x kernel height x kernel width.
void infer_unfold(Inference& in) {
  const auto window = in.attributes<WindowAttributes>();
  in.expect_inputs(1);
  const Shape& x = in.shape(0);
  if (x.size() != 4 || x[2] != window.y.size || x[3] != window.x.size)
    in.reject_shapes("the window was made for images of another size");
  in.output(in.dtype(0), {x[0], x[1] * window.y.kernel * window.x.kernel, window.y.outputs * window.x.outputs});
}

void infer_convolution(Inference& in) {
  const auto [window, groups, tf32, deterministic] = in.attributes<ConvolutionAttributes>();
  in.expect_inputs(2);
  const Shape& x = in.shape(0);
  const Shape& weight = in.shape(1);
  const auto [c, h, w] = ImageAxes(window.channels_last);
  const bool fits = x.size() == 4 && weight.size() == 4 && groups > 0 && x[c] == weight[c] * groups && weight[0] % groups == 0 &&
                    x[h] == window.y.size && x[w] == window.x.size && weight[h] == window.y.kernel &&
                    weight[w] == window.x.kernel;
  if (!fits) in.reject_shapes("it takes images and a weight of the sizes its window was made for");
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both must have one dtype");
  in.output(in.dtype(0), detail::image_shape(x[0], weight[0], window.y.outputs, window.x.outputs, window.channels_last));
}

const OpRow& max_pool_row = register_op({.name = "MaxPool",
                                         .function = "max_pool2d",
                                         .infer = infer_pool,
                                         .takes = numeric_dtypes,
                                         .arrange = detail::arrange_images<WindowAttributes>});
const OpRow& avg_pool_row = register_op({.name = "AvgPool",
                                         .function = "avg_pool2d",
                                         .infer = infer_pool,
                                         .takes = floating_dtypes,
                                         .arrange = detail::arrange_images<WindowAttributes>});
const OpRow& unfold_row = register_op({.name = "Unfold",
                                       .function = "conv2d",
                                       .infer = infer_unfold,
                                       .gradient = no_gradient("it is called for whole numbers, which have none")});
const OpRow& convolution_row = register_op({.name = "Conv2D",
                                            .function = "conv2d",
                                            .infer = infer_convolution,
                                            .takes = floating_dtypes,
                                            .arrange = detail::arrange_images<ConvolutionAttributes>});

struct WindowSizes {
  const char* function;
  Size2d kernel;
  Size2d stride;
  Size2d padding;
  Size2d dilation;
  bool ceil_mode;
};

WindowAxis window_along(const WindowSizes& sizes, const char* axis, std::int64_t size, std::int64_t Size2d::*part, Site site) {
  WindowAxis out{size, sizes.kernel.*part, sizes.stride.*part, sizes.padding.*part, sizes.dilation.*part, 0};
  constexpr std::int64_t most = std::int64_t{1} << 40U;  // products of these stay within 63 bits
  const auto refuse = [&](const char* what, std::int64_t value) {
    throw InvalidArgument(text(sizes.function, ": the ", what, " along the ", axis, " cannot be ", value), site);
  };
  if (out.kernel < 1 || out.kernel > most) refuse("kernel", out.kernel);
  if (out.stride < 1 || out.stride > most) refuse("stride", out.stride);
  if (out.padding < 0 || out.padding > most) refuse("padding", out.padding);
  if (out.dilation < 1 || out.dilation > most / out.kernel) refuse("dilation", out.dilation);
  const std::int64_t room = size + 2 * out.padding - out.dilation * (out.kernel - 1) - 1;
  if (room < 0) {
    throw ShapeError(text(sizes.function, ": the window spans ", out.dilation * (out.kernel - 1) + 1, " along the ", axis,
                          " and the image with its padding only ", size + 2 * out.padding),
                     site);
  }
  out.outputs = (room + (sizes.ceil_mode ? out.stride - 1 : 0)) / out.stride + 1;
  // A window must not begin beyond the image and the padding before it.
  if (sizes.ceil_mode && (out.outputs - 1) * out.stride >= size + out.padding) --out.outputs;
  return out;
}

WindowAttributes window_over(const Tensor& images, const WindowSizes& sizes, Site site) {
  const std::size_t rank = images.rank();
  return {window_along(sizes, "height", images.shape()[rank - 2], &Size2d::height, site),
          window_along(sizes, "width", images.shape()[rank - 1], &Size2d::width, site)};
}

void check_images(const char* function, const Tensor& x, Site site) {
  if (x.rank(site) == 3 || x.rank() == 4) return;
  throw ShapeError(text(function, ": images are (batch, channels, height, width) or (channels, height, width); the shape is ",
                        to_string(x.shape())),
                   site);
}

Tensor with_batch(const Tensor& x, Site site) {
  const Shape& shape = x.shape();
  return shape.size() == 4 ? x : broadcast_to(x, {1, shape[0], shape[1], shape[2]}, site);
}

// The batch's axis left out again where the caller had none.
Tensor like_input(const Tensor& out, std::size_t rank, Site site) {
  return rank == 4 ? out : reshape(out, Shape(out.shape().view().subspan(1)), site);
}

Tensor call_with_window(const OpRow& row, const Tensor& images, const WindowAttributes& window, Site site) {
  OpCall call(row, site);
  call.add(images);
  call.attributes = Attributes(window);
  return dispatch_one(call);
}

Tensor pool(const OpRow& row, const Tensor& x, const WindowSizes& sizes, bool count_include_pad, Site site) {
  check_images(sizes.function, x, site);
  WindowAttributes window = window_over(x, sizes, site);
  if (sizes.padding.height > sizes.kernel.height / 2 || sizes.padding.width > sizes.kernel.width / 2) {
    throw InvalidArgument(text(sizes.function, ": the padding must be at most half the kernel: a window that sees nothing but ",
                               "padding has no value"),
                          site);
  }
  window.count_include_pad = count_include_pad;
  return like_input(call_with_window(row, with_batch(x, site), window, site), x.rank(), site);
}

bool sees_single_pixels(const WindowAttributes& window) {
  const auto is_plain = [](const WindowAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0; };
  return is_plain(window.y) && is_plain(window.x);
}

Tensor convolved(const Tensor& images, const Tensor& weight, const ConvolutionAttributes& attributes, Site site) {
  OpCall call(convolution_row, site);
  call.add(images);
  call.add(weight);
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

// Of whole numbers: as products of matrices.
struct Convolution {
  WindowAttributes window;
  std::int64_t groups;
  std::int64_t channels_out;
  Tensor weight;  // (groups, channels out / groups, channels in / groups * kernel)

  // Images of one part of the batch.
  [[nodiscard]] Tensor run(const Tensor& images, Site site) const {
    const std::int64_t batch = images.shape()[0];
    const Tensor columns = sees_single_pixels(window) ? images : call_with_window(unfold_row, images, window, site);
    const std::int64_t places = window.y.outputs * window.x.outputs;
    const Tensor by_group = reshape(columns, {batch, groups, weight.shape()[2], places}, site);
    return reshape(matmul(weight, by_group, site), {batch, channels_out, window.y.outputs, window.x.outputs}, site);
  }
};

Tensor by_columns(const Tensor& images, const Tensor& weight, const ConvolutionAttributes& attributes, Site site) {
  const Shape& kernel = weight.shape();
  const std::int64_t groups = attributes.groups;
  const std::int64_t column = kernel[1] * kernel[2] * kernel[3];
  const Convolution convolution{attributes.window, groups, kernel[0],
                                reshape(weight, {groups, kernel[0] / groups, column}, site)};
  const std::int64_t batch = images.shape()[0];
  const std::int64_t bytes =
      std::max<std::int64_t>(1, groups * column * attributes.window.y.outputs * attributes.window.x.outputs *
                                    static_cast<std::int64_t>(size_of(images.dtype())));
  const std::int64_t at_once =
      sees_single_pixels(convolution.window) ? batch : std::max<std::int64_t>(1, most_column_bytes / bytes);
  if (at_once >= batch) return convolution.run(images, site);
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < batch; begin += at_once)
    parts.push_back(convolution.run(slice(images, 0, {begin, std::min(begin + at_once, batch)}, site), site));
  return concat(parts, 0, site);
}

void check_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t groups, Site site) {
  check_images("conv2d", x, site);
  const auto refuse = [&](std::string_view what) {
    throw ShapeError(text("conv2d: ", what, "; x is ", to_string(x.shape()), ", the weight ", to_string(weight.shape()), ", in ",
                          groups, " groups"),
                     site);
  };
  if (weight.rank(site) != 4) refuse("the weight must be (channels out, channels in / groups, height, width)");
  const std::int64_t channels = x.shape()[x.rank() - 3];
  if (groups < 1 || channels % groups != 0 || weight.shape()[0] % groups != 0)
    refuse("the groups must divide the channels of both sides");
  if (channels / groups != weight.shape()[1]) refuse("the weight must have the channels of one group as its second axis");
  if (bias.is_defined() && !(bias.shape() == Shape{weight.shape()[0]})) refuse("the bias must have one number per channel out");
}

}  // namespace

Tensor channels_last(const Tensor& x, Site site) {
  if (x.rank(site) != 4) {
    throw ShapeError(text("channels_last: images are (batch, channels, height, width); the shape is ", to_string(x.shape())),
                     site);
  }
  return permute_dims(contiguous(permute_dims(x, {0, 2, 3, 1}, site), site), {0, 3, 1, 2}, site);
}

Tensor max_pool2d(const Tensor& x, Size2d kernel, const MaxPool2dOptions& options, Site site) {
  const WindowSizes sizes{"max_pool2d",    kernel,           options.stride.value_or(kernel),
                          options.padding, options.dilation, options.ceil_mode};
  return pool(max_pool_row, x, sizes, true, site);
}

Tensor avg_pool2d(const Tensor& x, Size2d kernel, const AvgPool2dOptions& options, Site site) {
  const WindowSizes sizes{"avg_pool2d", kernel, options.stride.value_or(kernel), options.padding, 1, options.ceil_mode};
  return pool(avg_pool_row, x, sizes, options.count_include_pad, site);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options, Site site) {
  check_convolution(x, weight, bias, options.groups, site);
  const Shape& kernel = weight.shape();
  const WindowSizes sizes{"conv2d", {kernel[2], kernel[3]}, options.stride, options.padding, options.dilation, false};
  const DType dtype = promote(x.dtype(), weight.dtype(site));
  const Tensor images = with_batch(cast(x, dtype, site), site);
  const WindowAttributes window = window_over(x, sizes, site);
  const Tensor typed = cast(weight, dtype, site);
  const ConvolutionAttributes attributes{window, options.groups, allows_tf32(), is_deterministic()};
  Tensor out = is_floating(dtype) ? convolved(images, typed, attributes, site) : by_columns(images, typed, attributes, site);
  if (bias.is_defined()) out = add(std::move(out), reshape(bias, {kernel[0], 1, 1}, site), site);
  return like_input(out, x.rank(), site);
}

}  // namespace tutti
