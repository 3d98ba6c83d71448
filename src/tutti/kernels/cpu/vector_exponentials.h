// Exponentials, hyperbolic functions and the error function over vectors of f64. f32 is worked on as f64, but for
// what programs use most.
// Included once per instruction set, like vector_basics.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS
#undef TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS
#else
#define TUTTI_KERNELS_CPU_VECTOR_EXPONENTIALS
#endif

#include <cmath>

#include "tutti/kernels/cpu/vector_basics.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class D>
using Doubles = VectorBasics<D>;

// Highest coefficient first.
template <class D, class T, std::size_t n>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const T (&coefficients)[n]) {
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

// The same for f32, with x + x P(x^2) below 1 and 1 - e^(-x^2) Q(x) up to 4: within 2 ulp.
struct ErfOfFloats {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> argument) {
    constexpr float p[] = {7.875874871388078e-05F, -0.000801686430349946F, 0.005189087241888046F, -0.02685421146452427F,
                           0.11283594369888306F,   -0.3761262595653534F,   0.12837916709551F};
    constexpr float q[] = {-3.5664179449668154e-05F, 9.629120177123696e-05F, -0.00014741613995283842F, 0.00036815108614973724F,
                           -0.0010136625496670604F,  0.00242563895881176F,   -0.005568837746977806F,   0.01248412299901247F,
                           -0.027005458250641823F,   0.05611094832420349F,   -0.11152102053165436F,    0.21080635488033295F};
    const auto x = Doubles<D>{}.at_most(hn::Abs(argument), hn::Set(d, 4.0F));
    const auto square = hn::Mul(x, x);
    const auto near = hn::MulAdd(x, polynomial(d, square, p), x);
    const auto is_near = hn::Lt(x, hn::Set(d, 1.0F));
    if (hn::AllTrue(d, is_near)) return hn::CopySign(near, argument);
    const auto t = hn::Mul(hn::Sub(x, hn::Set(d, 2.5F)), hn::Set(d, 1 / 1.5F));
    const auto far = hn::NegMulAdd(Exp::apply(Doubles<D>{}, hn::Neg(square)), polynomial(d, t, q), hn::Set(d, 1.0F));
    return hn::CopySign(hn::IfThenElse(is_near, near, far), argument);
  }
};

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
