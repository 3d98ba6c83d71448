// The types of stored elements, and what they are computed in: half precision is widened to float and rounded once at the end.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace tutti::kernels::cuda {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// What an element is computed in.
template <class T>
using Working = std::conditional_t<is_half<T>, float, T>;

__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ __forceinline__ T widen(T x) {
  return x;
}

template <class T>
__device__ __forceinline__ T narrow(Working<T> x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

}  // namespace tutti::kernels::cuda
