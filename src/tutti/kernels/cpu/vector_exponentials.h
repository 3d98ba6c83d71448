// Exponentials, logarithms, hyperbolic functions and the error function over vectors of f64; f32 is worked on as f64.
// Included once per instruction set, like vector_basics.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS
#undef TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS
#else
#define TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS
#endif

#include <cmath>

#include "hwy/contrib/math/math-inl.h"
#include "tutti/kernels/cpu/vector_basics.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class D>
using Doubles = VectorBasics<D>;

// Highest coefficient first.
template <class D, std::size_t n>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const double (&coefficients)[n]) {
  hn::Vec<D> sum = hn::Set(d, coefficients[0]);
  for (std::size_t i = 1; i < n; ++i) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

// 2^n (e^r - 1 + 1 - 2^-n) with x = n ln 2 + r: nothing cancels, and n is 0 for small x.
struct Expm1Of {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> argument) {
    using C = ExponentialConstants<double>;
    const Doubles<D> m;
    const auto x = m.at_most(m.at_least(argument, hn::Set(d, -50.0)), hn::Set(d, 710.0));
    const auto to_integer = hn::Set(d, C::to_integer);
    const auto n = hn::Sub(hn::MulAdd(x, hn::Set(d, C::log2_e), to_integer), to_integer);
    const auto r = hn::MulAdd(n, hn::Set(d, -C::ln2_low), hn::MulAdd(n, hn::Set(d, -C::ln2_high), x));
    auto series = hn::Set(d, C::coefficient(0));
    for (int i = 1; i < C::terms; ++i) series = hn::MulAdd(series, r, hn::Set(d, C::coefficient(i)));
    const auto less_one = hn::MulAdd(hn::Mul(r, r), series, r);
    const auto biased = hn::Set(d, C::to_integer + C::bias);
    const auto power = [&](auto e) { return m.into_exponent(hn::Add(e, biased)); };
    const auto inverse = power(hn::Neg(m.at_most(n, hn::Set(d, 100.0))));
    const auto half = hn::Sub(hn::MulAdd(n, hn::Set(d, 0.5), to_integer), to_integer);
    const auto sum = hn::Add(less_one, hn::Sub(hn::Set(d, 1.0), inverse));
    return hn::CopySign(hn::Mul(hn::Mul(sum, power(half)), power(hn::Sub(n, half))), argument);
  }
};

// The logarithm of what is positive; what is not is put right here.
template <class D>
HWY_INLINE hn::Vec<D> outside_log(D d, hn::Vec<D> x, hn::Vec<D> logarithm) {
  const auto zero = hn::Zero(d);
  const double infinity = std::numeric_limits<double>::infinity();
  auto result = hn::IfThenElse(hn::Lt(x, hn::Set(d, infinity)), logarithm, x);  // infinity and NaN
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<double>::quiet_NaN()), result);
  return hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -infinity), result);
}

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
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> argument) {
    const hn::RebindToSigned<D> di;
    const auto is_tiny = hn::Lt(argument, hn::Set(d, 0x1p-1022));
    const auto x = hn::IfThenElse(is_tiny, hn::Mul(argument, hn::Set(d, 0x1p54)), argument);
    constexpr std::int64_t root_half = 0x3fe6a09e667f3bcd;  // the bits of the square root of 1/2
    const auto steps = hn::Sub(hn::BitCast(di, x), hn::Set(di, root_half));
    const auto exponent = hn::ShiftRight<52>(steps);
    const auto rest = hn::BitCast(d, hn::Sub(hn::BitCast(di, x), hn::ShiftLeft<52>(exponent)));
    const auto whole = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(is_tiny, hn::Set(d, 54.0)));
    const auto logarithm = hn::MulAdd(hn::Log(d, rest), hn::Set(d, 0x1.71547652b82fep+0), whole);
    return outside_log(d, argument, logarithm);
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

struct SinhOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto e = Expm1Of::apply(d, hn::Abs(x));
    const auto sum = hn::Add(e, hn::Div(e, hn::Add(e, hn::Set(d, 1.0))));
    const auto result = hn::CopySign(hn::Mul(sum, hn::Set(d, 0.5)), x);
    return mended(
        d, result, hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, 709.0))), [](double lane) { return std::sinh(lane); }, x);
  }
};

struct CoshOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto half = hn::Set(d, 0.5);
    const auto e = Exp::apply(Doubles<D>{}, hn::Abs(x));
    const auto result = hn::MulAdd(e, half, hn::Div(half, e));
    return mended(
        d, result, hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, 709.0))), [](double lane) { return std::cosh(lane); }, x);
  }
};

struct TanhOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> x) {
    const auto size = Doubles<D>{}.at_most(hn::Abs(x), hn::Set(d, 20.0));  // 1 from there on
    const auto e = Expm1Of::apply(d, hn::Add(size, size));
    return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0))), x);
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

// x P(x^2) below 1. Above, 1 - e^(-x^2) Q(t) / x with t = (x - 2) / (x + 2) up to 6, where the result is 1. P and Q are
// interpolated in the Chebyshev nodes, to 3e-17 of the function; Q's share of the result is a sixth at most.
struct ErfOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> argument) {
    constexpr double p[] = {-7.798253894482817e-10,  1.3721515775462953e-08, -1.620887240723808e-07, 1.6447483869678574e-06,
                            -1.4924742531989091e-05, 0.00012055295249821518, -0.0008548325989012178, 0.0052239776074516665,
                            -0.026866170643285718,   0.11283791670945356,    -0.3761263890318355,    1.1283791670955126};
    constexpr double q[] = {2.853586126290441e-06,  1.7510216515105698e-06, -8.694375981142004e-06, -1.9021844828035636e-05,
                            6.246057762589012e-06,  8.932463240662184e-05,  8.94186093578271e-05,   -0.000314352203533596,
                            -0.0007501846199212099, 0.0011266580536656353,  0.004784898557825871,   -0.0075157384123329665,
                            -0.02897644669809153,   0.12151493052460592,    -0.20384429592887846,   0.16721101041410613,
                            0.5107913526210115};
    const auto one = hn::Set(d, 1.0);
    const auto two = hn::Set(d, 2.0);
    const auto x = Doubles<D>{}.at_most(hn::Abs(argument), hn::Set(d, 6.0));
    const auto square = hn::Mul(x, x);
    const auto near = hn::Mul(x, polynomial(d, square, p));
    const auto t = hn::Div(hn::Sub(x, two), hn::Add(x, two));
    const auto rest = hn::Div(hn::Mul(Exp::apply(Doubles<D>{}, hn::Neg(square)), polynomial(d, t, q)), x);
    return hn::CopySign(hn::IfThenElse(hn::Lt(x, one), near, hn::Sub(one, rest)), argument);
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
