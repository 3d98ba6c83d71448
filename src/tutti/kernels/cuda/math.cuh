// The scalar functions over one element of device code.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tutti/exec/scalar_op.h"
#include "tutti/kernels/cuda/float_functions.cuh"
#include "tutti/kernels/cuda/stored.cuh"
#include "tutti/tensor/dtype.h"

namespace tutti::kernels::cuda {

#undef TUTTI_SCALAR_FUNCTION
#define TUTTI_SCALAR_FUNCTION __device__ __forceinline__
#include "tutti/exec/scalar_functions.h"

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
  __device__ __forceinline__ T div(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fdiv_rn(a, b);
    } else {
      return __ddiv_rn(a, b);
    }
  }
  __device__ __forceinline__ T infinity() const {
    if constexpr (std::is_same_v<T, float>) {
      return __uint_as_float(0x7f800000U);
    } else {
      return __longlong_as_double(0x7ff0000000000000LL);
    }
  }
  __device__ __forceinline__ T both(T a, T b) const { return static_cast<T>(a & b); }
  __device__ __forceinline__ T either(T a, T b) const { return static_cast<T>(a | b); }
  __device__ __forceinline__ T one_of(T a, T b) const { return static_cast<T>(a ^ b); }
  __device__ __forceinline__ T invert(T x) const { return static_cast<T>(~x); }
  __device__ __forceinline__ bool less(T a, T b) const { return a < b; }
  __device__ __forceinline__ bool less_equal(T a, T b) const { return a <= b; }
  __device__ __forceinline__ bool equal(T a, T b) const { return a == b; }
  __device__ __forceinline__ bool differs(T a, T b) const { return a != b; }
  __device__ __forceinline__ bool has_sign(T x) const { return ::signbit(x); }
  __device__ __forceinline__ T select(bool mask, T a, T b) const { return mask ? a : b; }
  __device__ __forceinline__ T at_least(T x, T low) const { return x < low ? low : x; }
  __device__ __forceinline__ T at_most(T x, T high) const { return high < x ? high : x; }
  __device__ __forceinline__ T larger(T a, T b) const { return a < b || b != b ? b : a; }
  __device__ __forceinline__ T smaller(T a, T b) const { return b < a || b != b ? b : a; }
  __device__ __forceinline__ T negate(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(0U - static_cast<unsigned long long>(x));
    }
  }
  __device__ __forceinline__ T abs(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return ::fabs(x);
    } else {
      return x < 0 ? negate(x) : x;
    }
  }
  // A negative count is a large unsigned one.
  __device__ __forceinline__ T shift_left(T a, T b) const {
    return b < T{8 * sizeof(T)} ? static_cast<T>(static_cast<unsigned long long>(a) << b) : T{0};
  }
  __device__ __forceinline__ T shift_right(T a, T b) const {
    constexpr auto most = static_cast<std::make_unsigned_t<T>>(8 * sizeof(T) - 1);
    const auto count = static_cast<std::make_unsigned_t<T>>(b);
    if constexpr (std::is_unsigned_v<T>) {
      return count <= most ? static_cast<T>(a >> count) : T{0};
    } else {
      return static_cast<T>(a >> (count < most ? count : most));
    }
  }

  // The CUDA library's functions, of which there is one for float and one for double.
  __device__ __forceinline__ T sqrt(T x) const { return ::sqrt(x); }
  __device__ __forceinline__ T copy_sign(T size, T sign) const { return ::copysign(size, sign); }
  __device__ __forceinline__ T floor(T x) const { return ::floor(x); }
  __device__ __forceinline__ T ceil(T x) const { return ::ceil(x); }
  __device__ __forceinline__ T trunc(T x) const { return ::trunc(x); }
  __device__ __forceinline__ T round(T x) const { return ::rint(x); }
  __device__ __forceinline__ T expm1(T x) const { return ::expm1(x); }
  __device__ __forceinline__ T log(T x) const { return ::log(x); }
  __device__ __forceinline__ T log1p(T x) const { return ::log1p(x); }
  __device__ __forceinline__ T log2(T x) const { return ::log2(x); }
  __device__ __forceinline__ T log10(T x) const { return ::log10(x); }
  __device__ __forceinline__ T sin(T x) const { return ::sin(x); }
  __device__ __forceinline__ T cos(T x) const { return ::cos(x); }
  __device__ __forceinline__ T tan(T x) const { return ::tan(x); }
  __device__ __forceinline__ T asin(T x) const { return ::asin(x); }
  __device__ __forceinline__ T acos(T x) const { return ::acos(x); }
  __device__ __forceinline__ T atan(T x) const { return ::atan(x); }
  __device__ __forceinline__ T hypot(T a, T b) const { return ::hypot(a, b); }
  __device__ __forceinline__ T sinh(T x) const { return ::sinh(x); }
  __device__ __forceinline__ T cosh(T x) const { return ::cosh(x); }
  __device__ __forceinline__ T tanh(T x) const { return ::tanh(x); }
  __device__ __forceinline__ T asinh(T x) const { return ::asinh(x); }
  __device__ __forceinline__ T acosh(T x) const { return ::acosh(x); }
  __device__ __forceinline__ T atanh(T x) const { return ::atanh(x); }
  __device__ __forceinline__ T erf(T x) const { return ::erf(x); }
  __device__ __forceinline__ T atan2(T y, T x) const {
    if constexpr (std::is_same_v<T, float>) {
      return float_angle(y, x);
    } else {
      return ::atan2(y, x);
    }
  }
  __device__ __forceinline__ T pow(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      return float_power(a, b);
    } else {
      return ::pow(a, b);
    }
  }

  // As Python has them: what is left has the sign of the divisor.
  __device__ __forceinline__ T remainder(T a, T b) const {
    const T left = ::fmod(a, b);
    if (left == 0) return ::copysign(T{0}, b);
    return (left < 0) != (b < 0) ? add(left, b) : left;
  }
  __device__ __forceinline__ T floor_divide(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      float result;
      if (short_floor_divide(a, b, result)) return result;
    }
    const T ratio = div(a, b);
    if (b == 0) return ratio;
    const T left = ::fmod(a, b);
    T quotient = div(sub(a, left), b);
    if (left != 0 && (left < 0) != (b < 0)) quotient = sub(quotient, T{1});
    if (quotient == 0) return ::copysign(T{0}, ratio);
    const T whole = ::floor(quotient);
    return sub(quotient, whole) > T{0.5} ? add(whole, T{1}) : whole;
  }
  __device__ __forceinline__ T into_exponent(T v) const {
    if constexpr (std::is_same_v<T, float>) {
      return __uint_as_float(__float_as_uint(v) << 23U);
    } else {
      return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(__double_as_longlong(v)) << 52U));
    }
  }
};

}  // namespace tutti::kernels::cuda
