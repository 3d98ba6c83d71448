// The device's part of kernels that work along dense lines: each line is held in the registers of a few lanes, a warp or a
// block, read once and written once; longer lines are gone through in parts.
#pragma once

#include <bit>

#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/lines.h"

namespace tutti::kernels::cuda {

inline constexpr int lane_line_threads = 128;  // of a block whose warps have a line or more each
inline constexpr int most_line_threads = 1024;
inline constexpr int part_threads = 256;
inline constexpr int warp_lanes = 32;

// Elements that one thread holds.
template <class T>
inline constexpr int held_elements = sizeof(T) == 8 ? 16 : 32;

struct Largest {
  template <class W>
  __device__ __forceinline__ W operator()(W a, W b) const {
    return b > a ? b : a;
  }
};
struct Plus {
  template <class W>
  __device__ __forceinline__ W operator()(W a, W b) const {
    return a + b;
  }
};

// Every lane gets the same bits: both partners of a step add the same two numbers.
template <class W, class Join>
__device__ __forceinline__ W join_lanes(W x, int lanes, const Join& join) {
  for (int apart = lanes / 2; apart > 0; apart /= 2) x = join(x, __shfl_xor_sync(0xffffffffU, x, apart));
  return x;
}

template <class W, class Join>
__device__ __forceinline__ W join_block(W x, W nothing, const Join& join) {
  __shared__ W of_warps[warp_lanes];
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warps = static_cast<int>(blockDim.x) / warp_lanes;
  x = join_lanes(x, warp_lanes, join);
  __syncthreads();  // who still reads from the last time
  if (lane == 0) of_warps[threadIdx.x / warp_lanes] = x;
  __syncthreads();
  return join_lanes(lane < warps ? of_warps[lane] : nothing, warp_lanes, join);
}

// The threads that share a line: `lanes` of a warp, a power of two, or all of a block of whole warps.
template <bool is_block>
struct LineGroup {
  int lanes;  // of a block: its threads

  __device__ __forceinline__ std::int64_t line() const {
    if constexpr (is_block) return blockIdx.x;
    return static_cast<std::int64_t>(blockIdx.x) * (lane_line_threads / lanes) + static_cast<int>(threadIdx.x) / lanes;
  }
  __device__ __forceinline__ int lane() const {
    return is_block ? static_cast<int>(threadIdx.x) : static_cast<int>(threadIdx.x) & (lanes - 1);
  }
  template <class W>
  __device__ __forceinline__ W largest(W x) const {
    if constexpr (is_block) return join_block(x, static_cast<W>(-INFINITY), Largest{});
    return join_lanes(x, lanes, Largest{});
  }
  __device__ __forceinline__ double sum(double x) const {
    if constexpr (is_block) return join_block(x, 0.0, Plus{});
    return join_lanes(x, lanes, Plus{});
  }
};

// One thread's share of a line: packs lane, lane + lanes, ...
template <class T, int width, int packs>
struct LineShare {
  using W = Working<T>;
  W value[packs * width];

  template <class Group>
  __device__ __forceinline__ void load(const Group& group, const T* line, int length, bool is_line, W beyond) {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int at = (group.lane() + k * group.lanes) * width;
      if (is_line && at < length) {
        const auto pack = *reinterpret_cast<const Pack<T, width>*>(line + at);
#pragma unroll
        for (int i = 0; i < width; ++i) value[k * width + i] = widen(pack.lane[i]);
      } else {
#pragma unroll
        for (int i = 0; i < width; ++i) value[k * width + i] = beyond;
      }
    }
  }
  // f(value, element of the line) of each of its elements, one after the other.
  template <class Group, class F>
  __device__ __forceinline__ void each(const Group& group, int length, const F& f) {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int at = (group.lane() + k * group.lanes) * width;
      if (at >= length) break;
#pragma unroll
      for (int i = 0; i < width; ++i) f(value[k * width + i], at + i);
    }
  }
  // f(values of a pack, their first element of the line)
  template <class Group, class F>
  __device__ __forceinline__ void each_pack(const Group& group, int length, const F& f) {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int at = (group.lane() + k * group.lanes) * width;
      if (at >= length) break;
      f(value + k * width, at);
    }
  }
  template <class Group>
  __device__ __forceinline__ void store(const Group& group, T* line, int length) const {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int at = (group.lane() + k * group.lanes) * width;
      if (at >= length) break;
      Pack<T, width> pack;
#pragma unroll
      for (int i = 0; i < width; ++i) pack.lane[i] = narrow<T>(value[k * width + i]);
      *reinterpret_cast<Pack<T, width>*>(line + at) = pack;
    }
  }
};

// f(packs of elements, first element) over begin ... end of a line by the threads of a block. Begin and end are multiples of
// the width.
template <int width, class T, class F>
__device__ __forceinline__ void for_each_pack(const T* line, std::int64_t begin, std::int64_t end, const F& f) {
#pragma unroll 4
  for (std::int64_t at = begin + static_cast<std::int64_t>(threadIdx.x) * width; at < end; at += part_threads * width)
    f(*reinterpret_cast<const Pack<T, width>*>(line + at), at);
}

__device__ __forceinline__ std::int64_t earlier(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Elements that a thread loads at once where it can. Two of f64 gain little.
template <class T>
inline constexpr int line_width = sizeof(T) == 8 ? 1 : pack_width<T>;

template <class T>
bool is_packed(const LineShape& shape, const Operand& operand) noexcept {
  return shape.length % line_width<T> == 0 && is_aligned(operand, pack_bytes);
}

// Calls launch(std::integral_constant<int, width>) with how many elements are loaded at once.
template <class T, class Launch>
void with_line_width(bool packed, const Launch& launch) {
  if (packed) return launch(std::integral_constant<int, line_width<T>>{});
  launch(std::integral_constant<int, 1>{});
}

template <int width_, int packs_, bool is_block_>
struct LineKernel {
  static constexpr int width = width_;
  static constexpr int packs = packs_;
  static constexpr bool is_block = is_block_;
};

template <class T, int width, class Launch>
bool choose_line_kernel(const LineShape& shape, const Launch& launch) {
  constexpr int most = held_elements<T> / width;
  const std::int64_t packs = (shape.length + width - 1) / width;
  if (packs > std::int64_t{warp_lanes} * most) {
    const std::int64_t threads = ((packs + most - 1) / most + warp_lanes - 1) / warp_lanes * warp_lanes;
    if (threads > most_line_threads) return false;
    const Grid grid{.blocks = dim3(static_cast<unsigned>(shape.lines)), .threads = dim3(static_cast<unsigned>(threads))};
    launch(LineKernel<width, most, true>{}, grid, static_cast<int>(threads));
    return true;
  }
  const int lanes = packs >= warp_lanes ? warp_lanes : static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(packs)));
  const std::int64_t per_block = lane_line_threads / lanes;
  const Grid grid{.blocks = dim3(static_cast<unsigned>((shape.lines + per_block - 1) / per_block)),
                  .threads = dim3(lane_line_threads)};
  if constexpr (sizeof(T) < 8) {  // f64 is rare: one kernel for lines of any length
    if (packs <= lanes) {
      launch(LineKernel<width, 1, false>{}, grid, lanes);
      return true;
    }
    if constexpr (width > 1) {
      if (packs <= 4 * lanes) {
        launch(LineKernel<width, 4, false>{}, grid, lanes);
        return true;
      }
    }
  }
  launch(LineKernel<width, most, false>{}, grid, lanes);
  return true;
}

// Calls launch(LineKernel<...>, grid, lanes) for the kernel that holds such lines in registers; false where none does.
template <class T, class Launch>
bool with_line_kernel(const LineShape& shape, bool packed, const Launch& launch) {
  if constexpr (line_width<T> > 1) {
    if (packed) return choose_line_kernel<T, line_width<T>>(shape, launch);
  }
  return choose_line_kernel<T, 1>(shape, launch);
}

inline Grid grid_of_parts(const LineShape& shape) {
  return {.blocks = dim3(static_cast<unsigned>(shape.lines * LineParts(shape.length).count)), .threads = dim3(part_threads)};
}

}  // namespace tutti::kernels::cuda
