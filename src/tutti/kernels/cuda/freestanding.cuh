// What the headers of scalar functions need of others, for a compiler that has no files: the standard library's types, elements
// of half precision, dtypes by name. It stands in for each of those headers.
#ifndef TUTTI_FREESTANDING  // not #pragma once: it is included by many names
#define TUTTI_FREESTANDING

namespace std {
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using size_t = unsigned long;
using uintptr_t = unsigned long;

template <class T>
struct type_identity {
  using type = T;
};
template <bool, class A, class>
struct conditional : type_identity<A> {};
template <class A, class B>
struct conditional<false, A, B> : type_identity<B> {};
template <bool which, class A, class B>
using conditional_t = typename conditional<which, A, B>::type;

template <class, class>
inline constexpr bool is_same_v = false;
template <class T>
inline constexpr bool is_same_v<T, T> = true;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;

template <class T>
struct make_unsigned;
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
struct numeric_limits;
template <class>
inline constexpr bool is_integral_v = false;
template <class>
inline constexpr bool is_unsigned_v = false;
#define TUTTI_INTEGER(name, without_sign, least, most)                                      \
  template <>                                                                               \
  inline constexpr bool is_integral_v<name> = true;                                         \
  template <>                                                                               \
  inline constexpr bool is_unsigned_v<name> = static_cast<name>(-1) > static_cast<name>(0); \
  template <>                                                                               \
  struct make_unsigned<name> : type_identity<without_sign> {};                              \
  template <>                                                                               \
  struct numeric_limits<name> {                                                             \
    static constexpr name min() { return least; }                                           \
    static constexpr name max() { return most; }                                            \
  };
TUTTI_INTEGER(signed char, unsigned char, -128, 127)
TUTTI_INTEGER(unsigned char, unsigned char, 0, 255)
TUTTI_INTEGER(short, unsigned short, -32768, 32767)
TUTTI_INTEGER(unsigned short, unsigned short, 0, 65535)
TUTTI_INTEGER(int, unsigned int, -2147483647 - 1, 2147483647)
TUTTI_INTEGER(unsigned int, unsigned int, 0, 4294967295U)
TUTTI_INTEGER(long, unsigned long, -9223372036854775807L - 1, 9223372036854775807L)
TUTTI_INTEGER(unsigned long, unsigned long, 0, 18446744073709551615UL)
#undef TUTTI_INTEGER
}  // namespace std

struct __half {
  unsigned short bits;
};
struct __nv_bfloat16 {
  unsigned short bits;
};
__device__ __forceinline__ float __half2float(__half x) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
  return out;
}
__device__ __forceinline__ __half __float2half_rn(float x) {
  __half out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
}
__device__ __forceinline__ float __bfloat162float(__nv_bfloat16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16U);
}
__device__ __forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) {
  __nv_bfloat16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
}
__device__ __forceinline__ __half __double2half(double x) {
  __half out;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(out.bits) : "d"(x));
  return out;
}
// By way of a float rounded to odd: what was lost is in its last bit, so the second rounding is as if it were the only one.
__device__ __forceinline__ __nv_bfloat16 __double2bfloat16(double x) {
  float odd = __double2float_rz(x);
  if (static_cast<double>(odd) != x) odd = __uint_as_float(__float_as_uint(odd) | 1U);
  return __float2bfloat16_rn(odd);
}

namespace tutti {
enum class DType : unsigned char { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };
// Which dtypes an op takes was asked before.
struct DTypes {
  unsigned short bits = 0;
};
constexpr DTypes operator|(DTypes a, DTypes) { return a; }
inline constexpr DTypes boolean_dtype, signed_integers, integer_dtypes, half_dtypes, wide_floats, floating_dtypes, numeric_dtypes,
    any_dtype;
template <DType>
struct HostElement;
template <DTypes handled, template <DType> class Element, class Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit);
template <class Visit>
void visit_size(std::size_t bytes, Visit&& visit);
}  // namespace tutti

#endif
