// Exponentials, logarithms and hyperbolic functions. A part of scalar_functions.h, which says how to include it.
template <class T>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
  static constexpr float lowest = -104.0F;        // the result is 0 here and below
  static constexpr float highest = 89.0F;         // the result is infinite here and above
  static constexpr float to_integer = 0x1.8p23F;  // adding it leaves an integer in the low bits
  static constexpr float bias = 127.0F;
  static constexpr float log2_e = 0x1.715476p+0F;
  static constexpr float ln2_high = 0x1.62e4p-1F;  // few bits, so that n times this is exact
  static constexpr float ln2_low = 0x1.7f7d1cp-20F;
  static constexpr int terms = 6;
  // A function, because device code cannot read a static array of a class.
  static TUTTI_SCALAR_FUNCTION constexpr float coefficient(int i) {
    constexpr float all[terms] = {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F};
    return all[i];
  }
};

template <>
struct ExponentialConstants<double> {
  static constexpr double lowest = -746.0;
  static constexpr double highest = 710.0;
  static constexpr double to_integer = 0x1.8p52;
  static constexpr double bias = 1023.0;
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42fefa3800p-1;
  static constexpr double ln2_low = 0x1.ef35793c76730p-45;
  static constexpr int terms = 12;
  static TUTTI_SCALAR_FUNCTION constexpr double coefficient(int i) {
    constexpr double all[terms] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                   1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    return all[i];
  }
};

// e^x = 2^n e^r with x = n ln 2 + r and |r| <= ln 2 / 2, where the Taylor series is good to a twentieth of an ulp after
// the terms above. 2^n is multiplied in as two halves: each is a normal number, and a result too small to be one is
// rounded once. Within 1 ulp with a fused mul_add, 2 ulp without.
struct Exp {
  static constexpr ScalarOp op{.name = "Exp", .function = "exp", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V argument) {
    using C = ExponentialConstants<typename Math::Lane>;
    using T = typename Math::Lane;
    const V x = m.at_most(m.at_least(argument, m.value(C::lowest)), m.value(C::highest));
    const V to_integer = m.value(C::to_integer);
    const V n = m.sub(m.mul_add(x, m.value(C::log2_e), to_integer), to_integer);
    const V r = m.mul_add(n, m.value(-C::ln2_low), m.mul_add(n, m.value(-C::ln2_high), x));
    V series = m.value(C::coefficient(0));
    for (int i = 1; i < C::terms; ++i) series = m.mul_add(series, r, m.value(C::coefficient(i)));
    const V power = m.add(m.mul_add(m.mul(r, r), series, r), m.value(T{1}));
    const V half = m.sub(m.mul_add(n, m.value(T{0.5}), to_integer), to_integer);
    const V biased = m.value(C::to_integer + C::bias);
    const V first = m.into_exponent(m.add(half, biased));
    const V second = m.into_exponent(m.add(m.sub(n, half), biased));
    return m.mul(m.mul(power, first), second);
  }
};

#define TUTTI_FLOATING_FUNCTION(Name, call)                                                   \
  struct Name {                                                                               \
    static constexpr ScalarOp op{.name = #Name, .function = #call, .takes = floating_dtypes}; \
    static constexpr bool is_heavy = true;                                                    \
    TUTTI_OF_ONE(m.call(x))                                                                   \
  };
TUTTI_FLOATING_FUNCTION(Expm1, expm1)
TUTTI_FLOATING_FUNCTION(Log, log)
TUTTI_FLOATING_FUNCTION(Log1p, log1p)
TUTTI_FLOATING_FUNCTION(Log2, log2)
TUTTI_FLOATING_FUNCTION(Log10, log10)
TUTTI_FLOATING_FUNCTION(Sinh, sinh)
TUTTI_FLOATING_FUNCTION(Cosh, cosh)
TUTTI_FLOATING_FUNCTION(Tanh, tanh)
TUTTI_FLOATING_FUNCTION(Asinh, asinh)
TUTTI_FLOATING_FUNCTION(Acosh, acosh)
TUTTI_FLOATING_FUNCTION(Atanh, atanh)
TUTTI_FLOATING_FUNCTION(Sin, sin)
TUTTI_FLOATING_FUNCTION(Cos, cos)
TUTTI_FLOATING_FUNCTION(Tan, tan)
TUTTI_FLOATING_FUNCTION(Asin, asin)
TUTTI_FLOATING_FUNCTION(Acos, acos)
TUTTI_FLOATING_FUNCTION(Atan, atan)
TUTTI_FLOATING_FUNCTION(Erf, erf)
#undef TUTTI_FLOATING_FUNCTION

struct Atan2 {
  static constexpr ScalarOp op{.name = "Atan2", .function = "atan2", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  TUTTI_OF_TWO(m.atan2(a, b))
};
// Without overflow on the way.
struct Hypot {
  static constexpr ScalarOp op{.name = "Hypot", .function = "hypot", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  TUTTI_OF_TWO(m.hypot(a, b))
};
// log(e^a + e^b) without overflow on the way: the larger plus log(1 + e^-distance).
struct LogAddExp {
  static constexpr ScalarOp op{.name = "LogAddExp", .function = "logaddexp", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V a, V b) {
    const V zero = m.value(typename Math::Lane{0});
    const V distance = m.select(m.equal(a, b), zero, m.abs(m.sub(a, b)));  // infinities may be equal
    return m.add(m.larger(a, b), m.log1p(Exp::apply(m, m.negate(distance))));
  }
};
