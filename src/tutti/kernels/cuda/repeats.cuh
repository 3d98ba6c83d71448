// Copies whose input has each element for a few of the output that lie side by side: stored in packs of 16 bytes all the same.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/pack.cuh"

namespace tutti::kernels::cuda {

inline constexpr int repeat_threads = 256;

// Packs that a thread has in flight. Of any number of times, each element of one is a load.
template <class U, int times>
inline constexpr int repeats_in_flight = times > 0 ? 4 : std::clamp(16 / pack_width<U>, 1, 4);

// Axis 0 of the layout has one element for all, axis 1 is what is repeated; both together are a line of the output, of `packs`.
// Times is 0 for any number; otherwise the elements that fill a pack are loaded together.
template <class U, int times, int unroll = repeats_in_flight<U, times>>
__global__ void __launch_bounds__(repeat_threads) copy_repeats_kernel(U* to, const U* from, Layout<std::uint32_t, 2> layout,
                                                                      Divisor<std::uint32_t> packs, std::uint32_t count) {
  constexpr int width = pack_width<U>;
  const Divisor<std::uint32_t> given_times = layout.size[0];
  const std::uint32_t length = given_times.divisor() * layout.size[1].divisor();
  const std::int32_t step = layout.stride[1][1];
  const std::uint32_t first = blockIdx.x * (repeat_threads * unroll) + threadIdx.x;
  std::int32_t at[unroll][2];
  std::uint32_t begin[unroll];  // in the line
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const std::uint32_t i = first + u * repeat_threads;
    const std::uint32_t line = packs.quotient(i < count ? i : 0);
    layout.locate(line, at[u], 2);
    begin[u] = i < count ? (i - line * packs.divisor()) * width : length;
  }
  Pack<U, width> pack[unroll];
  if constexpr (times > 0) {
    using Given = Pack<U, width / times>;
    Loaded<U, width / times> given[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (begin[u] + width <= length)
        given[u] = *reinterpret_cast<const Loaded<U, width / times>*>(from + at[u][1] + begin[u] / times);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const Given elements = std::bit_cast<Given>(given[u]);
#pragma unroll
      for (int i = 0; i < width; ++i) pack[u].lane[i] = elements.lane[i / times];
    }
  } else {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (begin[u] + width > length) continue;
      std::uint32_t element = given_times.quotient(begin[u]);
      std::uint32_t time = begin[u] - element * given_times.divisor();
#pragma unroll
      for (int i = 0; i < width; ++i) {
        pack[u].lane[i] = from[at[u][1] + static_cast<std::int32_t>(element) * step];
        if (++time == given_times.divisor()) {
          time = 0;
          ++element;
        }
      }
    }
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (begin[u] + width <= length) {
      *reinterpret_cast<uint4*>(to + at[u][0] + begin[u]) = held(pack[u]);
      continue;
    }
#pragma unroll 1
    for (std::uint32_t i = begin[u]; i < length; ++i)
      to[at[u][0] + static_cast<std::int32_t>(i)] = from[at[u][1] + static_cast<std::int32_t>(given_times.quotient(i)) * step];
  }
}

// Whether the axes of an output and an input are of that kind; false too where a pack holds one element only.
inline bool repeats_elements(const Axes& axes) noexcept {
  if (axes.rank < 2 || axes.stride[0][0] != 1 || axes.stride[0][1] != 0 || axes.stride[1][0] != axes.size[0]) return false;
  const std::int64_t width = pack_bytes / axes.element_bytes[0];
  if (axes.size[0] % width == 0 || reinterpret_cast<std::uintptr_t>(axes.data[0]) % pack_bytes != 0) return false;
  if (axes.rank > 2 && axes.size[0] * axes.size[1] % width != 0) return false;
  for (std::size_t i = 2; i < axes.rank; ++i) {
    if (axes.stride[i][0] % width != 0) return false;
  }
  return axes.fits_32_bits();
}

// Whether the input's elements for a pack, each `times` times in it, lie side by side from a multiple of their bytes on.
inline bool repeats_in_packs(const Axes& axes, std::int64_t times) noexcept {
  const std::int64_t given = pack_bytes / axes.element_bytes[0] / times;
  if (axes.size[0] != times || axes.stride[1][1] != 1 || given < 2) return false;
  if (reinterpret_cast<std::uintptr_t>(axes.data[1]) % static_cast<std::uintptr_t>(given * axes.element_bytes[1]) != 0)
    return false;
  for (std::size_t i = 2; i < axes.rank; ++i) {
    if (axes.stride[i][1] % given != 0) return false;
  }
  return true;
}

}  // namespace tutti::kernels::cuda
