// What the threads of a line do on the device: join values over lanes or a block, and hold a share of the line in registers.
#pragma once

#include "tutti/kernels/cuda/elementwise.cuh"

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

}  // namespace tutti::kernels::cuda
