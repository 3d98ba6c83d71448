// Sums over a block of 64-bit or 32-bit numbers: of all threads, and of those before each.
#pragma once

namespace tutti::kernels::cuda {

// The sum over the lanes up to this one.
template <class V>
__device__ __forceinline__ V sum_up_to_lane(V x) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned apart = 1; apart < 32; apart *= 2) {
    const V before = __shfl_up_sync(~0U, x, apart);
    if (lane >= apart) x += before;
  }
  return x;
}

template <class V>
struct BlockSums {
  V before;  // of the threads before this one
  V all;
};

// By all threads of a block of whole warps, again and again.
template <int threads, class V>
__device__ __forceinline__ BlockSums<V> block_sums(V x) {
  constexpr unsigned warps = threads / 32;
  static_assert(threads % 32 == 0 && warps <= 32);
  __shared__ V of_warps[warps];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const V up_to = sum_up_to_lane(x);
  __syncthreads();  // who still reads from the last time
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  BlockSums<V> sums{up_to - x, 0};
#pragma unroll
  for (unsigned i = 0; i < warps; ++i) {
    const V here = of_warps[i];
    if (i < warp) sums.before += here;
    sums.all += here;
  }
  return sums;
}

}  // namespace tutti::kernels::cuda
