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

// Enough bytes in flight for each thread to hide the memory's latency.
template <class... In>
inline constexpr int dense_unroll = sizeof...(In) > 1 ? 2 : 4;

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

}  // namespace tutti::kernels::cuda
