// The packs of dense operands that a thread has in flight at once: loaded together, then used and stored.
#pragma once

#include <cstdint>

#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/pack.cuh"

namespace tutti::kernels::cuda {

struct Same {
  template <class U>
  __device__ __forceinline__ U operator()(U x) const {
    return x;
  }
};

// The packs of one input that a thread has in flight at once.
template <class T, int width, int unroll>
struct Batch {
  Loaded<T, width> pack[unroll];
};

// A function that computes a lot says is_costly: each of its uses is a lot of code.
template <class F>
inline constexpr bool is_costly = requires { requires F::is_costly; };

// Enough bytes in flight for each thread to hide the memory's latency; a costly function hides it by itself.
template <class F, class... In>
inline constexpr int dense_unroll = is_costly<F>        ? 1
                                    : sizeof...(In) > 1 ? 2
                                                        : 4;

template <int width, int unroll, class T>
__device__ __forceinline__ Batch<T, width, unroll> load_dense(const Source<T>& in, std::int64_t first, std::int64_t step,
                                                              std::int64_t end) {
  Batch<T, width, unroll> batch;
  if (in.lane_step == 0) {
    const auto same = held(repeat<T, width>(in.data == nullptr ? in.value : *in.data));
#pragma unroll
    for (int u = 0; u < unroll; ++u) batch.pack[u] = same;
    return batch;
  }
  const auto* packs = reinterpret_cast<const Loaded<T, width>*>(in.data);
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * step < end) batch.pack[u] = packs[first + u * step];
  }
  return batch;
}

template <int width, int unroll, class F, class Out, class... In>
__device__ __forceinline__ void store_dense(const F& f, Out* out, std::int64_t first, std::int64_t step, std::int64_t end,
                                            const Batch<In, width, unroll>&... in) {
  auto* packs = reinterpret_cast<Loaded<Out, width>*>(out);
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * step < end) packs[first + u * step] = apply<width, F, Out, In...>(f, in.pack[u]...);
  }
}

template <class T>
__device__ __forceinline__ T element(const Source<T>& in, std::int64_t i) {
  return in.data == nullptr ? in.value : in.data[in.lane_step * i];
}

// Four rows of sixteen bytes from the sixteen words in which they stand as columns, `step` bytes apart.
template <class T>
__device__ __forceinline__ Batch<T, 16, 4> load_turned_bytes(const T* from, std::int64_t step) {
  std::uint32_t column[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) column[i] = *reinterpret_cast<const std::uint32_t*>(from + step * i);
  std::uint32_t row[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t upper_left = __byte_perm(column[4 * i], column[4 * i + 1], 0x5140);
    const std::uint32_t lower_left = __byte_perm(column[4 * i], column[4 * i + 1], 0x7362);
    const std::uint32_t upper_right = __byte_perm(column[4 * i + 2], column[4 * i + 3], 0x5140);
    const std::uint32_t lower_right = __byte_perm(column[4 * i + 2], column[4 * i + 3], 0x7362);
    row[0][i] = __byte_perm(upper_left, upper_right, 0x5410);
    row[1][i] = __byte_perm(upper_left, upper_right, 0x7632);
    row[2][i] = __byte_perm(lower_left, lower_right, 0x5410);
    row[3][i] = __byte_perm(lower_left, lower_right, 0x7632);
  }
  Batch<T, 16, 4> batch;
#pragma unroll
  for (int u = 0; u < 4; ++u) batch.pack[u] = {row[u][0], row[u][1], row[u][2], row[u][3]};
  return batch;
}

}  // namespace tutti::kernels::cuda
