// Windows that slide over images: convolutions and pooling. Images are (batch, channels, height, width), or without the batch.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "tutti/tensor/tensor.h"

namespace tutti {

// The two axes of an image; one number stands for both.
struct Size2d {
  std::int64_t height;
  std::int64_t width;
  Size2d(std::int64_t both) noexcept : height(both), width(both) {}
  Size2d(std::int64_t of_height, std::int64_t of_width) noexcept : height(of_height), width(of_width) {}
};

// The same images (or weight) with the channels of a pixel contiguous in memory; the shape stays. What convolutions, pooling and
// element-wise functions make of such images has the same layout, so that a network is told once, at its first layer; on GPUs
// half precision is quickest so. A weight of that layout gives it to the result too.
Tensor channels_last(const Tensor& x, Site site = {});

struct Conv2dOptions {
  Size2d stride = 1;
  Size2d padding = 0;  // zeros on each side
  Size2d dilation = 1;
  std::int64_t groups = 1;  // of channels that see only each other
};
// Weight: (channels out, channels in / groups, height, width). Bias: (channels out), or undefined. Dtypes promote; as exact as
// a matrix product.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {}, Site site = {});
// Without a bias. A template, so that empty braces are no options but an absent bias.
template <std::same_as<Conv2dOptions> T = Conv2dOptions>
Tensor conv2d(const Tensor& x, const Tensor& weight, const T& options, Site site = {}) {
  return conv2d(x, weight, {}, options, site);
}

struct MaxPool2dOptions {
  std::optional<Size2d> stride = {};  // absent: the kernel's size
  Size2d padding = 0;                 // never the largest
  Size2d dilation = 1;
  bool ceil_mode = false;  // a last window may reach beyond the image
};
// The largest element of each window; NaN counts as larger than any.
Tensor max_pool2d(const Tensor& x, Size2d kernel, const MaxPool2dOptions& options = {}, Site site = {});

struct AvgPool2dOptions {
  std::optional<Size2d> stride = {};
  Size2d padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  // the padding counts as zeros
};
// The mean of each window. Floating dtypes.
Tensor avg_pool2d(const Tensor& x, Size2d kernel, const AvgPool2dOptions& options = {}, Site site = {});

}  // namespace tutti
