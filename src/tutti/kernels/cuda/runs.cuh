// Runs of elements that are contiguous in both operands, or backwards in one, but not aligned alike: stored in packs of 16
// bytes, each made of the two aligned packs in which its elements are found.
#pragma once

#include <cstdint>

#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/pack.cuh"

namespace tutti::kernels::cuda {

// Nothing outside of it is read.
template <class U>
struct Span {
  const U* begin;
  const U* end;
};

template <class U>
Span<U> span_of(const Axes& axes, std::size_t operand) noexcept {
  const auto* at = reinterpret_cast<const U*>(axes.data[operand]);
  Span<U> span{at, at + 1};
  for (std::size_t i = 0; i < axes.rank; ++i) {
    const std::int64_t reach = (axes.size[i] - 1) * axes.stride[i][operand];
    (reach < 0 ? span.begin : span.end) += reach;
  }
  return span;
}

// The 16 bytes that begin `bytes` into the 32 of both; a multiple of `unit`.
template <unsigned unit>
__device__ __forceinline__ uint4 shifted(uint4 low, uint4 high, unsigned bytes) {
  const unsigned word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  unsigned by_two[6];
  unsigned by_one[5];
#pragma unroll
  for (int i = 0; i < 6; ++i) by_two[i] = (bytes & 8U) != 0 ? word[i + 2] : word[i];
  if constexpr (unit == 8) {
    return {by_two[0], by_two[1], by_two[2], by_two[3]};
  } else {
#pragma unroll
    for (int i = 0; i < 5; ++i) by_one[i] = (bytes & 4U) != 0 ? by_two[i + 1] : by_two[i];
    if constexpr (unit == 4) {
      return {by_one[0], by_one[1], by_one[2], by_one[3]};
    } else {
      const unsigned bits = bytes % 4 * 8;
      return {__funnelshift_r(by_one[0], by_one[1], bits), __funnelshift_r(by_one[1], by_one[2], bits),
              __funnelshift_r(by_one[2], by_one[3], bits), __funnelshift_r(by_one[3], by_one[4], bits)};
    }
  }
}

template <class U>
__device__ __forceinline__ uint4 reversed(uint4 pack) {
  if constexpr (sizeof(U) == 8) {
    return {pack.z, pack.w, pack.x, pack.y};
  } else if constexpr (sizeof(U) == 4) {
    return {pack.w, pack.z, pack.y, pack.x};
  } else {
    constexpr unsigned order = sizeof(U) == 2 ? 0x1032 : 0x0123;
    return {__byte_perm(pack.w, 0, order), __byte_perm(pack.z, 0, order), __byte_perm(pack.y, 0, order),
            __byte_perm(pack.x, 0, order)};
  }
}

// A pack on its way. Step is that from one element to the next: 1 or -1.
template <class U, int step>
struct Run {
  static constexpr int width = pack_width<U>;
  uint4 low{};
  uint4 high{};
  unsigned shift = 0;

  // Sets off the loads for a pack whose first element lies at `from`; false, and none, where they would leave the span.
  __device__ __forceinline__ bool load(const U* from, const Span<U>& span) {
    const U* lowest = step < 0 ? from - (width - 1) : from;
    shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(lowest) % pack_bytes);
    const U* first = lowest - shift / sizeof(U);
    const U* last = first + (shift == 0 ? 0 : width);
    if (first < span.begin || last + width > span.end) return false;
    low = *reinterpret_cast<const uint4*>(first);
    if (shift != 0) high = *reinterpret_cast<const uint4*>(last);
    return true;
  }
  [[nodiscard]] __device__ __forceinline__ uint4 pack() const {
    const uint4 forwards = shifted<sizeof(U)>(low, high, shift);
    return step < 0 ? reversed<U>(forwards) : forwards;
  }
};

inline constexpr int run_threads = 256;

// Copies lines: the innermost axis, along which the output is contiguous and the input as `step` says. Of the output's
// aligned packs, `packs` for each line, the first and last may lie outside of it in part or altogether.
template <class U, int step>
__global__ void __launch_bounds__(run_threads)
    copy_lines_kernel(U* to, const U* from, Span<U> span, Layout<std::uint32_t, 2> layout, Divisor<std::uint32_t> packs,
                      std::uint32_t count) {
  constexpr int width = pack_width<U>;
  const auto length = static_cast<std::int32_t>(layout.size[0].divisor());
  const std::uint32_t i = blockIdx.x * run_threads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t line = packs.quotient(i);
  std::int32_t at[2];
  layout.locate(line, at, 1);
  to += at[0];
  from += at[1];
  const auto misaligned = static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(U) % width);
  const std::int32_t begin = static_cast<std::int32_t>(i - line * packs.divisor()) * width - misaligned;  // in the line
  Run<U, step> run;
  if (begin >= 0 && begin + width <= length && run.load(from + begin * step, span)) {
    *reinterpret_cast<uint4*>(to + begin) = run.pack();
    return;
  }
#pragma unroll 1
  for (std::int32_t k = max(begin, 0); k < min(begin + width, length); ++k) to[k] = from[k * step];
}

}  // namespace tutti::kernels::cuda
