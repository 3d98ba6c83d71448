// What a reduction does to each element (its map) and to two of what comes out.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_COMBINATIONS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_COMBINATIONS
#undef TUTTI_KERNELS_CPU_COMBINATIONS
#else
#define TUTTI_KERNELS_CPU_COMBINATIONS
#endif

#include <limits>

#include "tutti/kernels/cpu/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Maps.
// Itself, or, of floats, its magnitude where the parameter is -0.
struct WithoutSign {
  template <class D>
  static HWY_INLINE hn::Vec<D> map(D, hn::Vec<D> x, hn::Vec<D> sign) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::AndNot(sign, x);
    } else {
      return x;
    }
  }
};

// Combinations. Where integers may overflow they are worked on without their sign: those wrap.
template <class Map>
struct SumOf : Map {
  static constexpr bool wraps = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Zero(d);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Add(a, b);
  }
};

template <class T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T highest() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}

// Not "other than itself": on some instruction sets that is false for a NaN.
template <class D>
HWY_INLINE hn::Mask<D> is_nan(D, hn::Vec<D> x) {
  return hn::Not(hn::Eq(x, x));
}

// `best` combines too, in one instruction, as long as no b is a NaN.
struct Largest : WithoutSign {
  static constexpr bool wraps = false;
  template <class D>
  static HWY_INLINE hn::Vec<D> best(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Max(b, a);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, lowest<hn::TFromD<D>>());
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), is_nan(d, b)), b, a);
    } else {
      return hn::Max(a, b);
    }
  }
};
struct Smallest : WithoutSign {
  static constexpr bool wraps = false;
  template <class D>
  static HWY_INLINE hn::Vec<D> best(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Min(b, a);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, highest<hn::TFromD<D>>());
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), is_nan(d, b)), b, a);
    } else {
      return hn::Min(a, b);
    }
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
