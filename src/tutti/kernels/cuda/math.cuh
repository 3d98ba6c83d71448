// The element types as device code has them, and the scalar functions over one element.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "tutti/exec/scalar_op.h"
#include "tutti/tensor/dtype.h"

namespace tutti::kernels::cuda {

#undef TUTTI_SCALAR_FUNCTION
#define TUTTI_SCALAR_FUNCTION __device__ __forceinline__
#include "tutti/exec/scalar_functions.h"

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

// Every operation is rounded on its own: the compiler fuses none but mul_add. Integers that may overflow are unsigned.
template <class T>
struct ScalarMath {
  using Lane = T;

  __device__ __forceinline__ T value(T x) const { return x; }
  __device__ __forceinline__ T add(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fadd_rn(a, b);
    } else if constexpr (std::is_same_v<T, double>) {
      return __dadd_rn(a, b);
    } else {
      return static_cast<T>(a + b);
    }
  }
  __device__ __forceinline__ T sub(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fsub_rn(a, b);
    } else if constexpr (std::is_same_v<T, double>) {
      return __dsub_rn(a, b);
    } else {
      return static_cast<T>(a - b);
    }
  }
  __device__ __forceinline__ T mul(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fmul_rn(a, b);
    } else if constexpr (std::is_same_v<T, double>) {
      return __dmul_rn(a, b);
    } else if constexpr (sizeof(T) < sizeof(unsigned)) {
      return static_cast<T>(static_cast<unsigned>(a) * static_cast<unsigned>(b));  // as int it could overflow
    } else {
      return a * b;
    }
  }
  __device__ __forceinline__ T mul_add(T a, T b, T c) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fmaf_rn(a, b, c);
    } else {
      return __fma_rn(a, b, c);
    }
  }
  __device__ __forceinline__ T both(T a, T b) const { return a & b; }
  __device__ __forceinline__ T either(T a, T b) const { return a | b; }
  __device__ __forceinline__ bool less(T a, T b) const { return a < b; }
  __device__ __forceinline__ T select(bool mask, T a, T b) const { return mask ? a : b; }
  __device__ __forceinline__ T at_least(T x, T low) const { return x < low ? low : x; }
  __device__ __forceinline__ T at_most(T x, T high) const { return high < x ? high : x; }
  __device__ __forceinline__ T into_exponent(T v) const {
    if constexpr (std::is_same_v<T, float>) {
      return __uint_as_float(__float_as_uint(v) << 23U);
    } else {
      return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(__double_as_longlong(v)) << 52U));
    }
  }
};

// A scalar function over stored elements: half precision is widened, worked on and rounded once. What a test gives is a bool.
template <class Function, class Out>
struct Applied {
  template <class X, class... More>
  __device__ __forceinline__ Out operator()(X x, More... more) const {
    const auto result = Function::apply(ScalarMath<Working<X>>{}, widen(x), widen(more)...);
    if constexpr (Function::op.gives_bool) {
      return static_cast<Out>(result ? 1 : 0);
    } else {
      return narrow<Out>(result);
    }
  }
};

}  // namespace tutti::kernels::cuda
