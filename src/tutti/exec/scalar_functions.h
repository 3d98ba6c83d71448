// The table of element-wise ops: each is a type that holds its row (`op`) and its scalar function, written once over whatever
// a backend's loop holds in V: one element or a vector of them. The families at the end are what backends compile and register.
//
// No include guard, include or namespace: a backend includes this file inside a namespace of its own, once for each
// instruction set it compiles for, so that everything below is compiled for that set. `Math` gives the primitives:
//   add, sub, mul        integers wrap                  mul_add(a, b, c)     a * b + c, fused where the hardware can
//   both, either         bitwise and, or                value(x)             the constant x in every lane
//   less(a, b)           a mask                         select(mask, a, b)   a where the mask holds, else b
//   at_least(x, low), at_most(x, high)                  x limited; a NaN stays
//   into_exponent(v)     the bits of v moved up so that its lowest bits become the exponent
//   Lane                 the element's type
// A function that computes a lot says is_heavy, and is given the widest vectors there are.
#ifndef TUTTI_SCALAR_FUNCTION  // what must stand before a function: a CUDA backend says __device__
#define TUTTI_SCALAR_FUNCTION inline
#endif

struct Either {
  static constexpr ScalarOp op{.name = "LogicalOr", .takes = boolean_dtype};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V a, V b) {
    return m.either(a, b);
  }
};

struct Both {
  static constexpr ScalarOp op{.name = "LogicalAnd", .takes = boolean_dtype};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V a, V b) {
    return m.both(a, b);
  }
};

// What they mean for bool, kept as 0 and 1, stands in OfBools.
struct Add {
  static constexpr ScalarOp op{.name = "AddV2", .takes = any_dtype, .wraps = true};
  using OfBools = Either;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V a, V b) {
    return m.add(a, b);
  }
};

struct Multiply {
  static constexpr ScalarOp op{.name = "Mul", .takes = any_dtype, .wraps = true};
  using OfBools = Both;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V a, V b) {
    return m.mul(a, b);
  }
};

// NaN is not less than 0, so it passes.
struct Relu {
  static constexpr ScalarOp op{.name = "Relu", .takes = numeric_dtypes};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    const V zero = m.value(typename Math::Lane{0});
    return m.select(m.less(x, zero), zero, x);
  }
};

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
  static constexpr ScalarOp op{.name = "Exp", .takes = floating_dtypes};
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

using Arithmetic = ScalarOps<2, Add, Multiply>;
using Rectifiers = ScalarOps<1, Relu>;
using Exponentials = ScalarOps<1, Exp>;
