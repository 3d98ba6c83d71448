// A window over images as device code has it: numbers of 32 bits wherever they fit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/layout.h"

namespace tutti::kernels::cuda {

template <class Index>
struct DeviceAxis {
  using Offset = std::make_signed_t<Index>;
  Offset size;
  Offset stride;
  Offset padding;
  Offset dilation;
  Divisor<Index> kernel;
  Divisor<Index> outputs;

  explicit DeviceAxis(const WindowAxis& axis) noexcept
      : size(static_cast<Offset>(axis.size)),
        stride(static_cast<Offset>(axis.stride)),
        padding(static_cast<Offset>(axis.padding)),
        dilation(static_cast<Offset>(axis.dilation)),
        kernel(axis.kernel),
        outputs(axis.outputs) {}

  [[nodiscard]] constexpr Offset start(Index output) const noexcept { return static_cast<Offset>(output) * stride - padding; }
  [[nodiscard]] constexpr bool has(Offset at) const noexcept { return at >= 0 && at < size; }
};

template <class Index>
struct DeviceWindow {
  DeviceAxis<Index> y;
  DeviceAxis<Index> x;
  bool count_include_pad;

  explicit DeviceWindow(const WindowAttributes& window) noexcept
      : y(window.y), x(window.x), count_include_pad(window.count_include_pad) {}
};

// Whether `items` can be counted, and every place a window looks at be named, below 2^31.
inline bool fits_32_bits(const WindowAttributes& window, std::int64_t items) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 31U;
  const auto reach = [](const WindowAxis& axis) {
    return std::max(axis.size + 2 * axis.padding + axis.stride, axis.kernel * axis.dilation + axis.outputs * axis.stride);
  };
  return items < most && reach(window.y) < most && reach(window.x) < most && window.y.size * window.x.size < most;
}

inline constexpr int window_items = 4;  // per thread, a block's width apart

// body(item) for this thread's items.
template <class Index, class Body>
__device__ __forceinline__ void for_each_item(Index count, const Body& body) {
  const Index first = static_cast<Index>(blockIdx.x) * blockDim.x * window_items + threadIdx.x;
#pragma unroll
  for (int i = 0; i < window_items; ++i) {
    const Index item = first + static_cast<Index>(i) * blockDim.x;
    if (item < count) body(item);
  }
}

}  // namespace tutti::kernels::cuda
