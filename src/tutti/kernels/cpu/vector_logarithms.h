// Logarithms and what is made of them over vectors of f64. f32 is worked on as f64, but for what programs use most.
// Included once per instruction set, like vector_basics.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_LOGARITHMS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_LOGARITHMS
#undef TUTTI_KERNELS_CPU_VECTOR_LOGARITHMS
#else
#define TUTTI_KERNELS_CPU_VECTOR_LOGARITHMS
#endif

#include "hwy/contrib/math/math-inl.h"
#include "tutti/kernels/cpu/vector_exponentials.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// The logarithm of what is positive; what is not is put right here.
template <class D>
HWY_INLINE hn::Vec<D> outside_log(D d, hn::Vec<D> x, hn::Vec<D> logarithm) {
  using T = hn::TFromD<D>;
  const auto zero = hn::Zero(d);
  const T infinity = std::numeric_limits<T>::infinity();
  auto result = hn::IfThenElse(hn::Lt(x, hn::Set(d, infinity)), logarithm, x);  // infinity and NaN
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), result);
  return hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -infinity), result);
}

// A positive number as 2^exponent times the rest, which lies between the square roots of 1/2 and 2.
template <class D>
struct Split {
  using T = hn::TFromD<D>;
  hn::Vec<D> exponent;
  hn::Vec<D> rest;

  HWY_INLINE explicit Split(hn::Vec<D> argument) {
    constexpr bool is_float = sizeof(T) == 4;
    constexpr int mantissa_bits = is_float ? 23 : 52;
    const D d;
    const hn::RebindToSigned<D> di;
    using Integer = hn::TFromD<decltype(di)>;
    constexpr auto root_half = static_cast<Integer>(is_float ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);  // its bits
    const auto is_tiny = hn::Lt(argument, hn::Set(d, std::numeric_limits<T>::min()));
    const auto x = hn::IfThenElse(is_tiny, hn::Mul(argument, hn::Set(d, T{0x1p54F})), argument);
    const auto steps = hn::ShiftRight<mantissa_bits>(hn::Sub(hn::BitCast(di, x), hn::Set(di, root_half)));
    rest = hn::BitCast(d, hn::Sub(hn::BitCast(di, x), hn::ShiftLeft<mantissa_bits>(steps)));
    exponent = hn::Sub(hn::ConvertTo(d, steps), hn::IfThenElseZero(is_tiny, hn::Set(d, T{54})));
  }
};

struct LogOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    return outside_log(d, x, hn::Log(d, x));
  }
};

struct Log10Of {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    return outside_log(d, x, hn::Log10(d, x));
  }
};

// The exponent and the logarithm of the rest apart: powers of two are exact.
struct Log2Of {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Split<D> split(x);
    return outside_log(d, x, hn::MulAdd(hn::Log(d, split.rest), hn::Set(d, 0x1.71547652b82fep+0), split.exponent));
  }
};

// Of f32 between the square roots of 1/2 and 2: f - f^2 / 2 + f^3 P(f) with f = x - 1. P is interpolated in the Chebyshev nodes;
// the whole is within 0.8 ulp.
template <class D>
HWY_INLINE hn::Vec<D> log_near_one(D d, hn::Vec<D> x) {
  constexpr float p[] = {0.06971611827611923F,  -0.11479733884334564F, 0.11685419827699661F,
                         -0.12425687164068222F, 0.14249058067798615F,  -0.1666780263185501F,
                         0.20000715553760529F,  -0.2499999701976776F,  0.3333333134651184F};
  const auto f = hn::Sub(x, hn::Set(d, 1.0F));
  const auto square = hn::Mul(f, f);
  const auto rest = hn::MulAdd(square, hn::Set(d, -0.5F), hn::Mul(square, hn::Mul(f, polynomial(d, f, p))));
  return hn::Add(f, rest);
}

struct LogOfFloats {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Split<D> split(x);
    const auto low = hn::MulAdd(split.exponent, hn::Set(d, 0x1.7f7d1cp-20F), log_near_one(d, split.rest));
    return outside_log(d, x, hn::MulAdd(split.exponent, hn::Set(d, 0x1.62e4p-1F), low));
  }
};

struct Log2OfFloats {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Split<D> split(x);
    return outside_log(d, x, hn::MulAdd(log_near_one(d, split.rest), hn::Set(d, 0x1.715476p+0F), split.exponent));
  }
};

struct Log10OfFloats {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const Split<D> split(x);
    const auto rest = hn::Mul(log_near_one(d, split.rest), hn::Set(d, 0.434294481903251828F));
    const auto low = hn::MulAdd(split.exponent, hn::Set(d, 4.6050389811952137e-6F), rest);
    return outside_log(d, x, hn::MulAdd(split.exponent, hn::Set(d, 0.301025390625F), low));  // 13 bits: exact
  }
};

// log(u) + (1 + x - u) / u with u = 1 + x as rounded.
struct Log1pOfFloats {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto one = hn::Set(d, 1.0F);
    const auto u = hn::Add(x, one);
    const auto lost = hn::IfThenElse(hn::Lt(hn::Abs(x), one), hn::Sub(x, hn::Sub(u, one)), hn::Sub(one, hn::Sub(u, x)));
    const Split<D> split(u);
    const auto rest = hn::Add(log_near_one(d, split.rest), hn::Div(lost, u));
    const auto low = hn::MulAdd(split.exponent, hn::Set(d, 0x1.7f7d1cp-20F), rest);
    const auto logarithm = hn::MulAdd(split.exponent, hn::Set(d, 0x1.62e4p-1F), low);
    return hn::IfThenElse(hn::Eq(u, one), x, outside_log(d, u, logarithm));
  }
};

// log(u) x / (u - 1) with u = 1 + x: the error of u cancels.
struct Log1pOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto one = hn::Set(d, 1.0);
    const auto u = hn::Add(x, one);
    const auto is_small = hn::Eq(u, one);
    const auto ratio = hn::Div(x, hn::Sub(hn::IfThenElse(is_small, hn::Set(d, 2.0), u), one));
    const auto logarithm = hn::Mul(hn::Log(d, u), ratio);
    return hn::IfThenElse(is_small, x, outside_log(d, u, logarithm));
  }
};

struct AsinhOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto is_finite = hn::Lt(hn::Abs(x), hn::Set(d, std::numeric_limits<double>::infinity()));
    return hn::IfThenElse(is_finite, hn::Asinh(d, x), x);
  }
};

struct AcoshOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto result = hn::IfThenElse(hn::Lt(x, hn::Set(d, std::numeric_limits<double>::infinity())), hn::Acosh(d, x), x);
    return hn::IfThenElse(hn::Lt(x, hn::Set(d, 1.0)), hn::Set(d, std::numeric_limits<double>::quiet_NaN()), result);
  }
};

// Half of log1p(2 |x| / (1 - |x|)).
struct AtanhOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto size = hn::Abs(x);
    const auto ratio = hn::Div(hn::Add(size, size), hn::Sub(hn::Set(d, 1.0), size));
    return hn::CopySign(hn::Mul(Log1pOf::apply(d, ratio), hn::Set(d, 0.5)), x);
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
