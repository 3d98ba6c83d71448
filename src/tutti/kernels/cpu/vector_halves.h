// Half precision in memory, f32 in registers.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_HALVES) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_HALVES
#undef TUTTI_KERNELS_CPU_VECTOR_HALVES
#else
#define TUTTI_KERNELS_CPU_VECTOR_HALVES
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "tutti/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// The bits of halves that fill a vector of D when they are widened.
template <class D>
using HalfTag = hn::Rebind<std::uint16_t, D>;

template <class Half, class D>
HWY_INLINE hn::Vec<D> widened(D d, hn::Vec<HalfTag<D>> bits) {
  if constexpr (std::is_same_v<Half, bf16>) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), bits)));
  } else {
#if HWY_TARGET <= HWY_AVX2
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
#else
    HWY_ALIGN std::uint16_t halves[hn::MaxLanes(D())];
    HWY_ALIGN float lanes[hn::MaxLanes(D())];
    hn::Store(bits, HalfTag<D>(), halves);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(std::bit_cast<f16>(halves[i]));
    return hn::Load(d, lanes);
#endif
  }
}

// To nearest, ties to even; a NaN stays a NaN, quiet. The same bits as the scalar conversions.
template <class Half, class D>
HWY_INLINE hn::Vec<HalfTag<D>> narrowed(D d, hn::Vec<D> value) {
  if constexpr (std::is_same_v<Half, bf16>) {
    const hn::RebindToUnsigned<D> wide;
    const auto bits = hn::BitCast(wide, value);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(upper, hn::Set(wide, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(wide, 0x7fff))));
    const auto quiet = hn::Or(upper, hn::Set(wide, 0x40));
    // Not "value is other than itself": on some instruction sets that is false for a NaN.
    const auto is_nan = hn::RebindMask(wide, hn::Not(hn::Eq(value, value)));
    return hn::DemoteTo(HalfTag<D>(), hn::BitCast(hn::RebindToSigned<D>(), hn::IfThenElse(is_nan, quiet, rounded)));
  } else {
#if HWY_TARGET <= HWY_AVX2
    return hn::BitCast(HalfTag<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), value));
#else
    HWY_ALIGN float lanes[hn::MaxLanes(D())];
    HWY_ALIGN std::uint16_t halves[hn::MaxLanes(D())];
    hn::Store(value, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) halves[i] = std::bit_cast<std::uint16_t>(f16(lanes[i]));
    return hn::Load(HalfTag<D>(), halves);
#endif
  }
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
