// Where the elements of pooled images stand, in either layout: a pixel is one element, or all its channels, contiguous.
#pragma once

#include "tutti/kernels/cuda/stored.cuh"
#include "tutti/kernels/cuda/window.cuh"

namespace tutti::kernels::cuda {

// How many elements average pooling counts along an axis, as elements_counted of exec has it.
template <class Index>
__device__ __forceinline__ std::int64_t elements_along(const DeviceAxis<Index>& axis, Index output, bool include_pad) {
  using Offset = std::make_signed_t<Index>;
  const Offset start = axis.start(output);
  const Offset reach = start + static_cast<Offset>(axis.kernel.divisor());
  const Offset end = reach < axis.size + axis.padding ? reach : axis.size + axis.padding;
  return include_pad ? end - start : (end < axis.size ? end : axis.size) - (start > 0 ? start : 0);
}
template <class Index>
__device__ __forceinline__ std::int64_t elements_counted(const DeviceWindow<Index>& window, Index oy, Index ox) {
  return elements_along(window.y, oy, window.count_include_pad) * elements_along(window.x, ox, window.count_include_pad);
}

// Of one item, counted in the order of memory.
template <class Index>
struct PoolPlace {
  Index image;  // or plane, where channels come first
  Index y;
  Index x;
  Index channel;  // 0 where channels come first
  __device__ __forceinline__ PoolPlace(Index item, const Divisor<Index>& height, const Divisor<Index>& width,
                                       const Divisor<Index>& pixel) {
    const Index at = pixel.quotient(item);
    channel = item - at * pixel.divisor();
    const Index line = width.quotient(at);
    x = at - line * width.divisor();
    image = height.quotient(line);
    y = line - image * height.divisor();
  }
};

template <class Index>
struct PoolWindow {
  DeviceWindow<Index> window;
  Divisor<Index> height;
  Divisor<Index> width;
  Divisor<Index> pixel;

  PoolWindow(const WindowAttributes& attributes, std::int64_t channels) noexcept
      : window(attributes), height(attributes.y.size), width(attributes.x.size), pixel(channels) {}

  // The first element of its image or outputs, at its channel.
  __device__ __forceinline__ std::int64_t image(const PoolPlace<Index>& at) const {
    return static_cast<std::int64_t>(at.image) * window.y.size * window.x.size * pixel.divisor() + at.channel;
  }
  __device__ __forceinline__ std::int64_t output(const PoolPlace<Index>& at) const {
    return static_cast<std::int64_t>(at.image) * window.y.outputs.divisor() * window.x.outputs.divisor() * pixel.divisor() +
           at.channel;
  }
  __device__ __forceinline__ std::int64_t place(Index oy, Index ox) const {
    return (static_cast<std::int64_t>(oy) * window.x.outputs.divisor() + ox) * pixel.divisor();
  }
};

}  // namespace tutti::kernels::cuda
