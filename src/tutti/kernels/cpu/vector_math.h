// The primitives of scalar_functions.h over Highway vectors.
// Included once per instruction set from a file that foreach_target.h includes again and again: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_MATH
#undef TUTTI_KERNELS_CPU_VECTOR_MATH
#else
#define TUTTI_KERNELS_CPU_VECTOR_MATH
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tutti/exec/scalar_op.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef TUTTI_SCALAR_FUNCTION
#define TUTTI_SCALAR_FUNCTION HWY_INLINE
#include "tutti/exec/scalar_functions.h"

// As wide as the machine has them: for functions that compute a lot.
template <class T>
using WideTag = hn::ScalableTag<T>;
// Vectors of 32 bytes at most. Measured on a machine with AVX-512: loops that mostly load and store are no slower with half
// the width in the caches, and 10 to 25 percent faster out of memory.
template <class T>
using Tag = hn::CappedTag<T, 32 / sizeof(T)>;

template <class D>
struct VectorMath {
  using T = hn::TFromD<D>;
  using Lane = T;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;

  HWY_INLINE V value(T x) const { return hn::Set(D(), x); }
  HWY_INLINE V add(V a, V b) const { return hn::Add(a, b); }
  HWY_INLINE V sub(V a, V b) const { return hn::Sub(a, b); }
  HWY_INLINE V mul(V a, V b) const {
    if constexpr (sizeof(T) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }
  HWY_INLINE V mul_add(V a, V b, V c) const { return hn::MulAdd(a, b, c); }
  HWY_INLINE V both(V a, V b) const { return hn::And(a, b); }
  HWY_INLINE V either(V a, V b) const { return hn::Or(a, b); }
  HWY_INLINE M less(V a, V b) const { return hn::Lt(a, b); }
  HWY_INLINE V select(M mask, V a, V b) const { return hn::IfThenElse(mask, a, b); }
  HWY_INLINE V at_least(V x, V low) const { return hn::IfThenElse(hn::Lt(x, low), low, x); }
  HWY_INLINE V at_most(V x, V high) const { return hn::IfThenElse(hn::Lt(high, x), high, x); }
  HWY_INLINE V into_exponent(V v) const {
    constexpr int mantissa_bits = sizeof(T) == 4 ? 23 : 52;
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(D(), hn::ShiftLeft<mantissa_bits>(hn::BitCast(bits, v)));
  }

 private:
  // No instruction set multiplies bytes: the even ones and the odd ones are multiplied as 16-bit numbers.
  static HWY_INLINE V multiply_bytes(V a, V b) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(D(), static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));
#else
    const hn::Repartition<std::uint16_t, D> wide;
    const auto a16 = hn::BitCast(wide, a);
    const auto b16 = hn::BitCast(wide, b);
    const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0x00ff));
    const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
    return hn::BitCast(D(), hn::Or(even, hn::ShiftLeft<8>(odd)));
#endif
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
