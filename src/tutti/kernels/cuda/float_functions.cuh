// Functions of float in fewer instructions than the CUDA library's: arguments for which that is enough by the short way, all
// others by the library's. Each operation is rounded on its own.
#pragma once

#include <cstdint>

namespace tutti::kernels::cuda {

// To 1 ulp where both x and the result are normal numbers; flushes others.
__device__ __forceinline__ float short_reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Whether 1/x is good to 1 ulp: 2^-126 <= |x| <= 2^126.
__device__ __forceinline__ bool has_short_reciprocal(float x) {
  constexpr unsigned least = 0x01000000U;  // twice the bits of 2^-126, which leaves the sign out
  constexpr unsigned most = 0xfd000000U;
  return (__float_as_uint(x) << 1U) - least <= most - least;
}

// The integer below a ratio that is less than 2^20: it is known to less than a half, and the sign of what its nearest integer
// leaves of a, which rounding cannot change, says on which side of that the exact ratio lies. False for other arguments.
__device__ __forceinline__ bool short_floor_divide(float a, float b, float& result) {
  const float ratio = __fmul_rn(a, short_reciprocal(b));
  if (!has_short_reciprocal(b) || !(::fabsf(ratio) < 0x1p20F)) return false;
  const float nearest = ::rintf(ratio);
  const float left = __fmaf_rn(-nearest, b, a);
  const bool is_above = left != 0 && (__float_as_int(left) ^ __float_as_int(b)) < 0;
  result = is_above ? __fsub_rn(nearest, 1.0F) : nearest;
  return true;
}

// |a|^b = 2^(b log2|a|) with the logarithm and its product in two floats each. For a normal |a|, |b| up to 64 and a normal power,
// to 2 ulps. a = 2^e (1 + f) with 1 + f between the roots of 1/2 and 2, and log2(1 + f) = c atanh s with s = f / (2 + f), c = 2 /
// ln 2.
__device__ __forceinline__ bool short_power(float a, float b, float& result) {
  constexpr unsigned root = 0x3f3504f3U;     // the root of 1/2
  constexpr float to_integer = 0x1.8p23F;    // adding it leaves an integer in the low bits
  constexpr float c = 0x1.715476p+1F;        // 2 / ln 2, rounded
  constexpr float c_left = 0x1.cab1b8p-27F;  // what that leaves, as a part of it
  const unsigned bits = __float_as_uint(a) & 0x7fffffffU;
  const std::int32_t exponent = static_cast<std::int32_t>(bits - root) >> 23;
  const float f = __fsub_rn(__uint_as_float(bits - (static_cast<unsigned>(exponent) << 23U)), 1.0F);
  const float e = __fsub_rn(__uint_as_float(__float_as_uint(to_integer) + static_cast<unsigned>(exponent)), to_integer);
  const float reciprocal = short_reciprocal(__fadd_rn(f, 2.0F));
  const float s = __fmul_rn(f, reciprocal);
  const float s_left = __fmul_rn(__fmaf_rn(-s, f, __fmaf_rn(-2.0F, s, f)), reciprocal);
  const float square = __fmul_rn(s, s);
  float series = __fmaf_rn(0x1.ddd172p-4F, square, 0x1.245c38p-3F);
  series = __fmaf_rn(series, square, 0x1.9999ecp-3F);
  series = __fmaf_rn(series, square, 0x1.555556p-2F);
  series = __fmaf_rn(series, square, c_left);
  const float small = __fmaf_rn(s_left, square, __fmaf_rn(s, series, s_left));  // atanh grows by 1 + s^2 and more
  const float high = __fmaf_rn(s, c, e);
  const float low = __fmaf_rn(small, c, __fmaf_rn(s, c, __fsub_rn(e, high)));
  const float product = __fmul_rn(b, high);
  const float product_low = __fmaf_rn(b, low, __fmaf_rn(b, high, -product));
  const float power = __fadd_rn(product, product_low);
  if (bits - 0x00800000U >= 0x7f000000U || !(::fabsf(power) < 125.5F) || ::fabsf(b) > 64.0F) return false;
  const float shifted = __fadd_rn(power, to_integer);
  const float r = __fadd_rn(__fsub_rn(product, __fsub_rn(shifted, to_integer)), product_low);
  float exponential = __fmaf_rn(0x1.44138ap-13F, r, 0x1.5f0890p-10F);
  exponential = __fmaf_rn(exponential, r, 0x1.3b2a54p-7F);
  exponential = __fmaf_rn(exponential, r, 0x1.c6af6cp-5F);
  exponential = __fmaf_rn(exponential, r, 0x1.ebfbe0p-3F);
  exponential = __fmaf_rn(exponential, r, 0x1.62e430p-1F);
  exponential = __fmaf_rn(exponential, r, 1.0F);
  result = __uint_as_float(__float_as_uint(exponential) + (__float_as_uint(shifted) << 23U));
  return true;
}

__device__ __forceinline__ float float_power(float a, float b) {
  float result;
  if (!short_power(a, b, result)) return ::powf(a, b);
  if (a > 0) return result;
  // A negative number has powers of integers only; those of odd ones are negative.
  if (::truncf(b) != b) return __uint_as_float(0x7fc00000U);
  const float half = __fmul_rn(b, 0.5F);
  return ::truncf(half) != half ? -result : result;
}

// The larger plus log(1 + e^-distance), e^-d by the hardware's 2^x with what rounding its argument leaves, the logarithm as
// 2 atanh(u / (2 + u)). Of infinities that are equal the distance is a NaN, which the limit takes off.
__device__ __forceinline__ float log_add_exp(float a, float b) {
  constexpr float log2_e = 0x1.715476p+0F;
  constexpr float log2_e_left = 0x1.4ae0c0p-26F;
  const float larger = a < b || b != b ? b : a;
  const float distance = ::fminf(::fabsf(__fsub_rn(a, b)), 200.0F);  // e^-200 is 0
  const float argument = __fmul_rn(distance, -log2_e);
  const float left = __fmaf_rn(distance, -log2_e_left, __fmaf_rn(distance, -log2_e, -argument));
  float rounded;
  asm("ex2.approx.f32 %0, %1;" : "=f"(rounded) : "f"(argument));
  const float u = __fmaf_rn(rounded, __fmul_rn(left, 0x1.62e430p-1F), rounded);
  const float reciprocal = short_reciprocal(__fadd_rn(u, 2.0F));
  const float nearby = __fmul_rn(u, reciprocal);
  const float s = __fmaf_rn(__fmaf_rn(-nearby, u, __fmaf_rn(-2.0F, nearby, u)), reciprocal, nearby);
  const float square = __fmul_rn(s, s);
  float series = __fmaf_rn(0x1.a9bafcp-3F, square, 0x1.65ad56p-3F);
  series = __fmaf_rn(series, square, 0x1.c7fb36p-3F);
  series = __fmaf_rn(series, square, 0x1.248f58p-2F);
  series = __fmaf_rn(series, square, 0x1.9999a0p-2F);
  series = __fmaf_rn(series, square, 0x1.555556p-1F);
  series = __fmaf_rn(series, square, 2.0F);
  return __fmaf_rn(s, series, larger);
}

__device__ __forceinline__ float float_angle(float y, float x) {
  const float high = ::fmaxf(::fabsf(y), ::fabsf(x));
  const float low = ::fminf(::fabsf(y), ::fabsf(x));
  if (!has_short_reciprocal(high) || y != y || x != x) return ::atan2f(y, x);
  const float reciprocal = short_reciprocal(high);
  const float nearby = __fmul_rn(low, reciprocal);
  const float ratio = __fmaf_rn(__fmaf_rn(-nearby, high, low), reciprocal, nearby);
  const float square = __fmul_rn(ratio, ratio);
  float series = __fmaf_rn(-0x1.38de56p-9F, square, 0x1.ba9f66p-7F);
  series = __fmaf_rn(series, square, -0x1.25dc12p-5F);
  series = __fmaf_rn(series, square, 0x1.0001c6p-4F);
  series = __fmaf_rn(series, square, -0x1.6295f8p-4F);
  series = __fmaf_rn(series, square, 0x1.c3f168p-4F);
  series = __fmaf_rn(series, square, -0x1.246cd2p-3F);
  series = __fmaf_rn(series, square, 0x1.99983cp-3F);
  series = __fmaf_rn(series, square, -0x1.555554p-2F);
  series = __fmul_rn(series, square);
  const float inner = __fmaf_rn(ratio, series, ratio);
  // From the nearest axis, which is that of y where its size is larger.
  const bool is_steep = ::fabsf(y) > ::fabsf(x);
  const bool is_behind = __float_as_int(x) < 0;
  const float axis = is_steep ? 0x1.921fb6p+0F : (is_behind ? 0x1.921fb6p+1F : 0.0F);
  return ::copysignf(__fadd_rn(axis, is_steep != is_behind ? -inner : inner), y);
}

}  // namespace tutti::kernels::cuda
