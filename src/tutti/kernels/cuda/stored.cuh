// The types of stored elements, and what they are computed in: half precision is widened to float and rounded once at the end.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

// A stored bool, whatever its bits.
struct StoredBool {
  std::uint8_t byte;
  __device__ __forceinline__ explicit operator int() const { return byte != 0 ? 1 : 0; }
};

// The type of a dtype's elements in device code.
template <DType dtype>
struct StoredElement : HostElement<dtype> {};
template <>
struct StoredElement<DType::boolean> {
  using type = StoredBool;
};
template <>
struct StoredElement<DType::f16> {
  using type = __half;
};
template <>
struct StoredElement<DType::bf16> {
  using type = __nv_bfloat16;
};

template <DTypes handled, class Visit>
decltype(auto) visit_stored(DType dtype, Visit&& visit) {
  return visit_dtype<handled, StoredElement>(dtype, visit);
}

// As visit_size, up to the 16 bytes that a thread moves at once.
template <class Visit>
decltype(auto) visit_unit(std::int64_t bytes, Visit&& visit) {
  if (bytes == sizeof(uint4)) return visit(uint4{});
  return visit_size(static_cast<std::size_t>(bytes), visit);
}

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

// A double, rounded once to what is stored.
template <class T>
__device__ __forceinline__ T rounded(double x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __double2half(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __double2bfloat16(x);
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace tutti::kernels::cuda
