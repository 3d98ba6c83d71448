// Trigonometric functions over vectors of f64. f32 is worked on as f64, but for sine and cosine.
// Included once per instruction set, like vector_basics.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_ANGLES) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_ANGLES
#undef TUTTI_KERNELS_CPU_VECTOR_ANGLES
#else
#define TUTTI_KERNELS_CPU_VECTOR_ANGLES
#endif

#include <cmath>

#include "hwy/contrib/math/math-inl.h"
#include "tutti/kernels/cpu/vector_exponentials.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Two over pi, pi/2 in parts of so few bits that n times each is exact up to `farthest`, with or without a fused multiply-add,
// and the Taylor series of sine and cosine, good to a twentieth of an ulp up to pi/4.
template <class T>
struct TurnConstants;

template <>
struct TurnConstants<double> {
  static constexpr double farthest = 1e6;
  static constexpr double to_integer = 0x1.8p52;
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  static constexpr double parts[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e0p-69, 0x1.b839a252049c1p-104};
  static constexpr double sine[] = {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                                    1.0 / 362880,          -1.0 / 5040,          1.0 / 120,        -1.0 / 6};
  static constexpr double cosine[] = {-1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
                                      -1.0 / 3628800,          1.0 / 40320,          -1.0 / 720,         1.0 / 24};
};

template <>
struct TurnConstants<float> {
  static constexpr float farthest = 6e3F;
  static constexpr float to_integer = 0x1.8p23F;
  static constexpr float two_over_pi = 0x1.45f306p-1F;
  static constexpr float parts[] = {0x1.9200000000000p+0F, 0x1.fb40000000000p-12F, 0x1.4440000000000p-24F,
                                    0x1.68c2340000000p-39F};
  static constexpr float sine[] = {1.0F / 362880, -1.0F / 5040, 1.0F / 120, -1.0F / 6};
  static constexpr float cosine[] = {-1.0F / 3628800, 1.0F / 40320, -1.0F / 720, 1.0F / 24};
};

// x = n pi/2 + r with |r| <= pi/4, and the sine and cosine of r.
template <class D>
struct Turn {
  using T = hn::TFromD<D>;
  hn::Vec<D> sine;
  hn::Vec<D> cosine;
  hn::Vec<hn::RebindToUnsigned<D>> quarters;  // the lowest bits are those of n
  hn::Mask<D> is_too_far;                     // also for NaN and infinity

  HWY_INLINE explicit Turn(hn::Vec<D> x) {
    using C = TurnConstants<T>;
    const D d;
    const auto to_integer = hn::Set(d, C::to_integer);
    const auto shifted = hn::MulAdd(x, hn::Set(d, C::two_over_pi), to_integer);
    const auto n = hn::Sub(shifted, to_integer);
    auto r = x;
    for (const T part : C::parts) r = hn::MulAdd(n, hn::Set(d, -part), r);
    const auto square = hn::Mul(r, r);
    sine = hn::MulAdd(hn::Mul(square, r), polynomial(d, square, C::sine), r);
    const auto main = hn::MulAdd(square, hn::Set(d, T{-0.5}), hn::Set(d, T{1}));
    cosine = hn::MulAdd(hn::Mul(square, square), polynomial(d, square, C::cosine), main);
    quarters = hn::BitCast(hn::RebindToUnsigned<D>(), shifted);
    is_too_far = hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, C::farthest)));
  }

  [[nodiscard]] HWY_INLINE hn::Mask<D> is_odd() const {
    const hn::RebindToUnsigned<D> du;
    return hn::RebindMask(D(), hn::TestBit(quarters, hn::Set(du, 1)));
  }
  // The sign bit set where the sine of n + ahead quarter turns is negative.
  [[nodiscard]] HWY_INLINE hn::Vec<D> sign(hn::TFromD<hn::RebindToUnsigned<D>> ahead) const {
    const hn::RebindToUnsigned<D> du;
    const auto half_turns = hn::And(hn::Add(quarters, hn::Set(du, ahead)), hn::Set(du, 2));
    return hn::BitCast(D(), hn::ShiftLeft<8 * sizeof(T) - 2>(half_turns));
  }
};

struct SinOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Turn<D> turn(x);
    const auto size = hn::IfThenElse(turn.is_odd(), turn.cosine, turn.sine);
    const auto result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Xor(size, turn.sign(0)));
    return mended(
        d, result, turn.is_too_far, [](hn::TFromD<D> lane) { return std::sin(lane); }, x);
  }
};

struct CosOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Turn<D> turn(x);
    const auto size = hn::IfThenElse(turn.is_odd(), turn.sine, turn.cosine);
    return mended(
        d, hn::Xor(size, turn.sign(1)), turn.is_too_far, [](hn::TFromD<D> lane) { return std::cos(lane); }, x);
  }
};

struct TanOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Turn<D> turn(x);
    const auto is_odd = turn.is_odd();
    const auto over = hn::IfThenElse(is_odd, hn::Neg(turn.cosine), turn.sine);
    const auto under = hn::IfThenElse(is_odd, turn.sine, turn.cosine);
    const auto result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Div(over, under));
    return mended(
        d, result, turn.is_too_far, [](double lane) { return std::tan(lane); }, x);
  }
};

struct AsinOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    return hn::Asin(d, x);
  }
};

struct AcosOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    return hn::Acos(d, x);
  }
};

struct AtanOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    return hn::Atan(d, x);
  }
};

// In the first quarter, then mirrored. Equal sizes have the quotient 1, also of two infinities; two zeros have 0.
struct Atan2Of {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> y, hn::Vec<D> x) {
    const auto height = hn::Abs(y);
    const auto width = hn::Abs(x);
    auto quotient = hn::IfThenElse(hn::Eq(height, width), hn::Set(d, 1.0), hn::Div(height, width));
    quotient = hn::IfThenElse(hn::Eq(height, hn::Zero(d)), hn::IfThenElse(hn::Eq(x, x), hn::Zero(d), x), quotient);
    const auto angle = hn::Atan(d, quotient);
    const auto mirrored = hn::Sub(hn::Set(d, 3.14159265358979323846), angle);
    return hn::CopySign(hn::IfThenElse(Doubles<D>{}.has_sign(x), mirrored, angle), y);
  }
};

// Squares of ordinary numbers neither overflow nor lose what counts.
struct HypotOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    const auto size = Doubles<D>{}.larger(hn::Abs(a), hn::Abs(b));
    const auto result = hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b)));
    const auto is_small = hn::And(hn::Lt(size, hn::Set(d, 1e-140)), hn::Ne(size, hn::Zero(d)));
    const auto is_wrong = hn::Or(is_small, hn::Not(hn::Lt(size, hn::Set(d, 1e140))));
    return mended(
        d, result, is_wrong, [](double x, double y) { return std::hypot(x, y); }, a, b);
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
