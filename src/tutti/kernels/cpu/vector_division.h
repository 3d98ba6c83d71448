// Powers, and divisions of floats that give whole numbers and what is left.
// Included once per instruction set, like vector_basics.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_DIVISION) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_DIVISION
#undef TUTTI_KERNELS_CPU_VECTOR_DIVISION
#else
#define TUTTI_KERNELS_CPU_VECTOR_DIVISION
#endif

#include <cmath>

#include "tutti/kernels/cpu/vector_logarithms.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// To all bits of f64: the C library's.
struct PowOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    return lane_by_lane(
        d, [](double x, double y) { return std::pow(x, y); }, a, b);
  }
};

// Of numbers that were f32: e^(b log |a|) has bits to spare. A negative base takes its sign from an odd exponent and is refused
// a fraction.
struct PowOfFloats {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto zero = hn::Zero(d);
    const auto logarithm = hn::IfThenElse(hn::Eq(a, zero), hn::Set(d, -infinity), hn::Log(d, hn::Abs(a)));
    const auto product = hn::IfThenElse(hn::Eq(b, zero), zero, hn::Mul(b, logarithm));
    const auto size = Exp::apply(Doubles<D>{}, product);
    const auto half = hn::Mul(b, hn::Set(d, 0.5));
    const auto is_odd = hn::And(hn::Ne(hn::Round(half), half), hn::Eq(hn::Round(b), b));
    auto result = hn::IfThenElse(hn::And(Doubles<D>{}.has_sign(a), is_odd), hn::Neg(size), size);
    result = hn::IfThenElse(hn::And(hn::Lt(a, zero), hn::Ne(hn::Round(b), b)),
                            hn::Set(d, std::numeric_limits<double>::quiet_NaN()), result);
    const auto is_plain = hn::And(hn::Lt(hn::Abs(a), hn::Set(d, infinity)), hn::Lt(hn::Abs(b), hn::Set(d, infinity)));
    return mended(
        d, result, hn::Not(is_plain), [](double x, double y) { return std::pow(x, y); }, a, b);
  }
};

// As Python has them: what is left has the sign of the divisor.
template <class T>
struct PythonDivision {
  T quotient;
  T left;

  PythonDivision(T a, T b) {
    left = std::fmod(a, b);
    if (b == 0) {
      quotient = a / b;
      return;
    }
    quotient = (a - left) / b;
    if (left == 0) {
      left = std::copysign(T{0}, b);
    } else if ((b < 0) != (left < 0)) {
      left += b;
      quotient -= 1;
    }
    if (quotient == 0) {
      quotient = std::copysign(T{0}, a / b);
    } else {
      const T whole = std::floor(quotient);
      quotient = quotient - whole > T{0.5} ? whole + 1 : whole;
    }
  }
};

// The same in vectors, where the quotient is a whole number that the type holds. It may come out one too large, by rounding: what
// is left, exact thanks to the fused multiply-add, then has the wrong sign.
template <class D>
struct Divided {
  hn::Vec<D> quotient;
  hn::Vec<D> left;
  hn::Mask<D> is_wrong;

  HWY_INLINE Divided(hn::Vec<D> a, hn::Vec<D> b) {
    using T = hn::TFromD<D>;
    const D d;
    const auto zero = hn::Zero(d);
    const auto one = hn::Set(d, T{1});
    const auto ratio = hn::Div(a, b);
    quotient = hn::Trunc(ratio);
    left = hn::NegMulAdd(quotient, b, a);
    // Towards minus infinity, and back where rounding went too far.
    const auto is_below = hn::And(hn::Ne(left, zero), hn::Xor(hn::Lt(left, zero), hn::Lt(b, zero)));
    left = hn::IfThenElse(is_below, hn::Add(left, b), left);
    quotient = hn::IfThenElse(is_below, hn::Sub(quotient, one), quotient);
    left = hn::IfThenElse(hn::Eq(left, zero), hn::CopySign(zero, b), left);
    quotient = hn::IfThenElse(hn::Eq(quotient, zero), hn::CopySign(zero, ratio), quotient);
    const auto is_ordinary = [&](auto v) {
      return hn::And(hn::Gt(hn::Abs(v), hn::Set(d, sizeof(T) == 4 ? T{1e-18F} : static_cast<T>(1e-150))),
                     hn::Lt(hn::Abs(v), hn::Set(d, std::numeric_limits<T>::max())));
    };
    const auto limit = hn::Set(d, sizeof(T) == 4 ? T{0x1p22F} : T{0x1p51});
    const auto is_right =
        hn::And(hn::Lt(hn::Abs(ratio), limit), hn::And(is_ordinary(b), hn::Or(is_ordinary(a), hn::Eq(a, zero))));
    is_wrong = hn::Not(is_right);
  }
};

struct FloorDivideOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    using T = hn::TFromD<D>;
    const auto slow = [](T x, T y) { return PythonDivision<T>(x, y).quotient; };
#if HWY_TARGET <= HWY_AVX2
    const Divided<D> divided(a, b);
    return mended(d, divided.quotient, divided.is_wrong, slow, a, b);
#else
    return lane_by_lane(d, slow, a, b);
#endif
  }
};

struct RemainderOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    using T = hn::TFromD<D>;
    const auto slow = [](T x, T y) { return PythonDivision<T>(x, y).left; };
#if HWY_TARGET <= HWY_AVX2
    const Divided<D> divided(a, b);
    return mended(d, divided.left, divided.is_wrong, slow, a, b);
#else
    return lane_by_lane(d, slow, a, b);
#endif
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
