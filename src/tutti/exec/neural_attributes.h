// The attributes of neural-network ops, shared by the functions that fill them and the kernels that read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti {

// A window that slides along one axis of an image: output o looks at o * stride - padding + k * dilation for k in 0 ... kernel
// - 1.
struct WindowAxis {
  std::int64_t size = 0;  // of the image
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t outputs = 0;

  [[nodiscard]] constexpr std::int64_t start(std::int64_t output) const noexcept { return output * stride - padding; }
  // The outputs first ... last - 1 are those whose k-th element lies inside the image.
  [[nodiscard]] constexpr std::int64_t first_inside(std::int64_t k) const noexcept {
    const std::int64_t missing = padding - k * dilation;
    const std::int64_t first = missing <= 0 ? 0 : (missing + stride - 1) / stride;
    return first < outputs ? first : outputs;
  }
  [[nodiscard]] constexpr std::int64_t last_inside(std::int64_t k) const noexcept {
    const std::int64_t room = size - 1 + padding - k * dilation;
    const std::int64_t last = room < 0 ? 0 : room / stride + 1;
    return last < outputs ? last : outputs;
  }
};

struct WindowAttributes {
  WindowAxis y;
  WindowAxis x;
  bool count_include_pad = true;  // average pooling: the padding counts as zeros
  bool channels_last = false;     // what the kernel sees is (batch, height, width, channels), for kernels alone to know
};

// By how many elements average pooling divides the sum of one window: it is cut off at the padding's end, or at the image's.
constexpr std::int64_t elements_counted(const WindowAttributes& window, std::int64_t oy, std::int64_t ox) noexcept {
  const auto along = [&](const WindowAxis& axis, std::int64_t output) {
    const std::int64_t begin = axis.start(output);
    const std::int64_t reach = begin + axis.kernel;
    const std::int64_t end = reach < axis.size + axis.padding ? reach : axis.size + axis.padding;
    if (window.count_include_pad) return end - begin;
    return (end < axis.size ? end : axis.size) - (begin > 0 ? begin : 0);
  };
  return along(window.y, oy) * along(window.x, ox);
}

struct ConvolutionAttributes {
  WindowAttributes window;
  std::int64_t groups = 1;
  bool tf32 = false;          // as MatMulAttributes has it
  bool deterministic = true;  // the same bits on every run
};

// Which axes of images are what, as their layout has it.
struct ImageAxes {
  std::size_t channels;
  std::size_t y;
  std::size_t x;
  explicit constexpr ImageAxes(bool channels_last) noexcept
      : channels(channels_last ? 3 : 1), y(channels_last ? 1 : 2), x(channels_last ? 2 : 3) {}
};

// Softmax runs along the last axis but `after`; those form the columns of a matrix for each element of the axes before.
struct SoftmaxAttributes {
  std::int32_t after = 0;
};

struct LayerNormAttributes {
  double epsilon = 1e-5;
  std::int32_t axes = 1;  // the last so many are normalised over
  bool has_weight = false;
  bool has_bias = false;
};

struct CrossEntropyAttributes {
  std::int64_t ignore_index = 0;
  bool has_ignore_index = false;

  [[nodiscard]] constexpr bool ignores(std::int64_t label) const noexcept { return has_ignore_index && label == ignore_index; }
};

struct DropoutAttributes {
  std::uint64_t key = 0;      // Philox key
  std::uint64_t counter = 0;  // the first Philox block; element i has word i mod 4 of block counter + i / 4
  std::uint64_t dropped = 0;  // words below this drop their element: p * 2^32
  double scale = 1;           // of what stays
};

struct OneHotAttributes {
  std::int64_t depth = 0;
  std::array<std::byte, 8> on{};  // as the output's dtype has it
  std::array<std::byte, 8> off{};
  std::uint8_t dtype = 0;
};

}  // namespace tutti
