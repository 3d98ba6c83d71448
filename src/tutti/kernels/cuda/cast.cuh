// One element from any dtype to any other, by the rules of the CPU.
#pragma once

#include <limits>

#include "tutti/kernels/cuda/stored.cuh"

namespace tutti::kernels::cuda {

// Cut off towards zero, with what was lost marked in the lowest bit: rounded to half precision, the result is then that of
// rounding x once.
__device__ __forceinline__ float with_sticky_bit(float cut, bool is_exact) {
  return is_exact ? cut : __uint_as_float(__float_as_uint(cut) | 1U);
}
__device__ __forceinline__ float to_odd(double x) {
  const float cut = __double2float_rz(x);
  return with_sticky_bit(cut, static_cast<double>(cut) == x);
}
__device__ __forceinline__ float to_odd(std::int32_t x) {
  const float cut = __int2float_rz(x);
  return with_sticky_bit(cut, __float2int_rz(cut) == x);
}
__device__ __forceinline__ float to_odd(std::int64_t x) {
  const float cut = __ll2float_rz(x);
  return with_sticky_bit(cut, __float2ll_rz(cut) == x);
}

// Truncates; the conversions of the hardware stop at the ends of their range. NaN becomes 0.
template <class To, class From>
__device__ __forceinline__ To saturate(From x) {
  if (x != x) return To{0};
  if constexpr (sizeof(To) == 8) {
    return std::is_same_v<From, float> ? __float2ll_rz(x) : __double2ll_rz(x);
  } else {
    constexpr int least = std::numeric_limits<To>::min();
    constexpr int most = std::numeric_limits<To>::max();
    const int whole = std::is_same_v<From, float> ? __float2int_rz(x) : __double2int_rz(x);
    return static_cast<To>(whole < least ? least : whole > most ? most : whole);
  }
}

template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  if constexpr (std::is_same_v<From, StoredBool>) {
    return convert<To>(static_cast<std::uint8_t>(x.byte != 0));
  } else if constexpr (is_half<From>) {
    return convert<To>(widen(x));
  } else if constexpr (std::is_same_v<To, StoredBool>) {
    return StoredBool{static_cast<std::uint8_t>(x != From{0})};
  } else if constexpr (is_half<To>) {
    if constexpr (sizeof(From) == 8 || std::is_same_v<From, std::int32_t>) {
      return narrow<To>(to_odd(x));
    } else {
      return narrow<To>(static_cast<float>(x));
    }
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class To>
struct Convert {
  template <class From>
  __device__ __forceinline__ To operator()(From x) const {
    return convert<To>(x);
  }
};

}  // namespace tutti::kernels::cuda
