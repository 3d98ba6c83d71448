// The primitives of scalar_functions.h over Highway vectors.
// Included once per instruction set, like vector_basics.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_MATH
#undef TUTTI_KERNELS_CPU_VECTOR_MATH
#else
#define TUTTI_KERNELS_CPU_VECTOR_MATH
#endif

#include "tutti/kernels/cpu/vector_angles.h"
#include "tutti/kernels/cpu/vector_basics.h"
#include "tutti/kernels/cpu/vector_division.h"
#include "tutti/kernels/cpu/vector_exponentials.h"
#include "tutti/kernels/cpu/vector_logarithms.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// A function of f64 vectors over vectors of f64, or of f32 as f64: right to the last bit but one, whatever the range.
template <class Function, class D, class... V>
HWY_INLINE hn::Vec<D> in_double(D d, V... v) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return Function::apply(d, v...);
  } else {
#if HWY_TARGET == HWY_SCALAR
    const hn::Rebind<double, D> wide;
    // Not DemoteTo, which makes infinity the largest float here.
    return hn::Set(d, static_cast<float>(hn::GetLane(Function::apply(wide, hn::PromoteTo(wide, v)...))));
#else
    const hn::Half<D> half;
    const hn::Rebind<double, decltype(half)> wide;
    const auto low = Function::apply(wide, hn::PromoteTo(wide, hn::LowerHalf(half, v))...);
    const auto high = Function::apply(wide, hn::PromoteTo(wide, hn::UpperHalf(half, v))...);
    return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
  }
}

template <class D>
struct VectorMath : VectorBasics<D> {
  using V = hn::Vec<D>;
  // One way for f64, another for f32.
  template <class OfDoubles, class OfFloats>
  using By = std::conditional_t<sizeof(hn::TFromD<D>) == 8, OfDoubles, OfFloats>;

  HWY_INLINE V expm1(V x) const { return in_double<Expm1Of>(D(), x); }
  HWY_INLINE V log(V x) const { return By<LogOf, LogOfFloats>::apply(D(), x); }
  HWY_INLINE V log1p(V x) const { return By<Log1pOf, Log1pOfFloats>::apply(D(), x); }
  HWY_INLINE V log2(V x) const { return By<Log2Of, Log2OfFloats>::apply(D(), x); }
  HWY_INLINE V log10(V x) const { return By<Log10Of, Log10OfFloats>::apply(D(), x); }
  HWY_INLINE V sinh(V x) const { return in_double<SinhOf>(D(), x); }
  HWY_INLINE V cosh(V x) const { return in_double<CoshOf>(D(), x); }
  HWY_INLINE V tanh(V x) const { return in_double<TanhOf>(D(), x); }
  HWY_INLINE V asinh(V x) const { return in_double<AsinhOf>(D(), x); }
  HWY_INLINE V acosh(V x) const { return in_double<AcoshOf>(D(), x); }
  HWY_INLINE V atanh(V x) const { return in_double<AtanhOf>(D(), x); }
  HWY_INLINE V sin(V x) const { return SinOf::apply(D(), x); }
  HWY_INLINE V cos(V x) const { return CosOf::apply(D(), x); }
  HWY_INLINE V tan(V x) const { return in_double<TanOf>(D(), x); }
  HWY_INLINE V asin(V x) const { return in_double<AsinOf>(D(), x); }
  HWY_INLINE V acos(V x) const { return in_double<AcosOf>(D(), x); }
  HWY_INLINE V atan(V x) const { return in_double<AtanOf>(D(), x); }
  HWY_INLINE V erf(V x) const { return By<ErfOf, ErfOfFloats>::apply(D(), x); }
  HWY_INLINE V atan2(V y, V x) const { return in_double<Atan2Of>(D(), y, x); }
  HWY_INLINE V hypot(V a, V b) const { return in_double<HypotOf>(D(), a, b); }
  HWY_INLINE V pow(V a, V b) const { return in_double<By<PowOf, PowOfFloats>>(D(), a, b); }
  HWY_INLINE V floor_divide(V a, V b) const { return FloorDivideOf::apply(D(), a, b); }
  HWY_INLINE V remainder(V a, V b) const { return RemainderOf::apply(D(), a, b); }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
