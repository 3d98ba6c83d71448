// The simple primitives of scalar_functions.h over Highway vectors: those that are an instruction or a few.
// Included once per instruction set from a file that foreach_target.h includes again and again: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_BASICS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_BASICS
#undef TUTTI_KERNELS_CPU_VECTOR_BASICS
#else
#define TUTTI_KERNELS_CPU_VECTOR_BASICS
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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

// f of each lane by itself, where the hardware has nothing better.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> lane_by_lane(D d, F f, V... v) {
  constexpr std::size_t most = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<D> lanes[sizeof...(V)][most];
  std::size_t number = 0;
  (hn::Store(v, d, lanes[number++]), ...);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if constexpr (sizeof...(V) == 1) {
      lanes[0][i] = f(lanes[0][i]);
    } else {
      lanes[0][i] = f(lanes[0][i], lanes[1][i]);
    }
  }
  return hn::Load(d, lanes[0]);
}

// The result, with the lanes that the fast way gets wrong worked out by f. Rarely taken, and kept out of the way.
template <class D, class F, class... V>
HWY_NOINLINE hn::Vec<D> mend(D d, hn::VecArg<hn::Vec<D>> result, hn::VecArg<hn::Vec<D>> is_wrong, F f, V... v) {
  const auto right = lane_by_lane(d, f, v...);
  return hn::IfThenElse(hn::MaskFromVec(is_wrong), right, result);
}
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> mended(D d, hn::Vec<D> result, hn::Mask<D> is_wrong, F f, V... v) {
  if (HWY_LIKELY(hn::AllFalse(d, is_wrong))) return result;
  return mend<D, F, V...>(d, result, hn::VecFromMask(d, is_wrong), f, v...);
}

template <class D>
struct VectorBasics {
  using T = hn::TFromD<D>;
  using Lane = T;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;

  HWY_INLINE V value(T x) const { return hn::Set(D(), x); }
  HWY_INLINE V infinity() const { return hn::Set(D(), std::numeric_limits<T>::infinity()); }
  HWY_INLINE V add(V a, V b) const { return hn::Add(a, b); }
  HWY_INLINE V sub(V a, V b) const { return hn::Sub(a, b); }
  HWY_INLINE V mul(V a, V b) const {
    if constexpr (sizeof(T) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }
  HWY_INLINE V div(V a, V b) const { return hn::Div(a, b); }
  HWY_INLINE V sqrt(V x) const { return hn::Sqrt(x); }
  HWY_INLINE V mul_add(V a, V b, V c) const { return hn::MulAdd(a, b, c); }
  HWY_INLINE V both(V a, V b) const { return hn::And(a, b); }
  HWY_INLINE V either(V a, V b) const { return hn::Or(a, b); }
  HWY_INLINE V one_of(V a, V b) const { return hn::Xor(a, b); }
  HWY_INLINE V invert(V x) const { return hn::Not(x); }
  HWY_INLINE M less(V a, V b) const { return hn::Lt(a, b); }
  HWY_INLINE M less_equal(V a, V b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Lt(b, a));
    }
  }
  HWY_INLINE M equal(V a, V b) const { return hn::Eq(a, b); }
  // Not Ne, which finds a NaN equal to all on some instruction sets.
  HWY_INLINE M differs(V a, V b) const { return hn::Not(hn::Eq(a, b)); }
  HWY_INLINE V select(M mask, V a, V b) const { return hn::IfThenElse(mask, a, b); }
  HWY_INLINE V at_least(V x, V low) const { return hn::IfThenElse(hn::Lt(x, low), low, x); }
  HWY_INLINE V at_most(V x, V high) const { return hn::IfThenElse(hn::Lt(high, x), high, x); }
  HWY_INLINE V larger(V a, V b) const {
    if constexpr (std::is_floating_point_v<T>) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR  // max gives the second where either is NaN
      return hn::IfThenElse(hn::Eq(a, a), hn::Max(a, b), a);
#else
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), differs(b, b)), b, a);
#endif
    } else {
      return hn::IfThenElse(hn::Lt(a, b), b, a);
    }
  }
  HWY_INLINE V smaller(V a, V b) const {
    if constexpr (std::is_floating_point_v<T>) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
      return hn::IfThenElse(hn::Eq(a, a), hn::Min(a, b), a);
#else
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), differs(b, b)), b, a);
#endif
    } else {
      return hn::IfThenElse(hn::Lt(b, a), b, a);
    }
  }
  HWY_INLINE V negate(V x) const {
    if constexpr (std::is_unsigned_v<T>) {
      return hn::Sub(hn::Zero(D()), x);
    } else {
      return hn::Neg(x);
    }
  }
  HWY_INLINE V abs(V x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Abs(x);
    } else {
      return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Sub(hn::Zero(D()), x), x);
    }
  }
  HWY_INLINE M has_sign(V x) const {
    const hn::RebindToSigned<D> bits;
    return hn::RebindMask(D(), hn::Lt(hn::BitCast(bits, x), hn::Zero(bits)));
  }
  HWY_INLINE V copy_sign(V size, V sign) const { return hn::CopySign(size, sign); }
  HWY_INLINE V floor(V x) const { return hn::Floor(x); }
  HWY_INLINE V ceil(V x) const { return hn::Ceil(x); }
  HWY_INLINE V trunc(V x) const { return hn::Trunc(x); }
  HWY_INLINE V round(V x) const { return hn::Round(x); }
  // The counts as unsigned numbers: a negative one is out of range too.
  HWY_INLINE V shift_left(V a, V b) const {
    return lane_by_lane(
        D(), [](T x, T n) { return n < T{8 * sizeof(T)} ? static_cast<T>(x << n) : T{0}; }, a, b);
  }
  HWY_INLINE V shift_right(V a, V b) const {
    using Unsigned = std::make_unsigned_t<T>;
    constexpr Unsigned most = 8 * sizeof(T) - 1;
    if constexpr (std::is_unsigned_v<T>) {
      return lane_by_lane(
          D(), [](T x, T n) { return n <= most ? static_cast<T>(x >> n) : T{0}; }, a, b);
    } else {
      return lane_by_lane(
          D(), [](T x, T n) { return static_cast<T>(x >> (static_cast<Unsigned>(n) < most ? static_cast<Unsigned>(n) : most)); },
          a, b);
    }
  }
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
