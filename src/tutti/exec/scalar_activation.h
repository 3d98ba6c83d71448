// Activations of neural networks. A part of scalar_functions.h, which says how to include it.
// NaN is not less than 0, so it passes.
struct Relu {
  static constexpr ScalarOp op{.name = "Relu", .function = "relu", .takes = numeric_dtypes};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    const V zero = m.value(typename Math::Lane{0});
    return m.select(m.less(x, zero), zero, x);
  }
};

// 1 / (1 + e^-x), by e^-|x|, which cannot overflow.
struct Sigmoid {
  static constexpr ScalarOp op{.name = "Sigmoid", .function = "sigmoid", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    const V one = m.value(typename Math::Lane{1});
    const V small = Exp::apply(m, m.negate(m.abs(x)));
    return m.div(m.select(m.has_sign(x), small, one), m.add(one, small));
  }
};

struct Silu {
  static constexpr ScalarOp op{.name = "Silu", .function = "silu", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    const V one = m.value(typename Math::Lane{1});
    const V small = Exp::apply(m, m.negate(m.abs(x)));
    // Minus infinity is left out: it would meet a 0.
    const V least = m.at_least(x, m.value(typename Math::Lane{-1e30F}));
    return m.div(m.select(m.has_sign(x), m.mul(least, small), x), m.add(one, small));
  }
};

// x times the chance that a standard normal number lies below it.
struct Gelu {
  static constexpr ScalarOp op{.name = "Gelu", .function = "gelu", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    using T = typename Math::Lane;
    const V finite = m.at_least(x, m.value(static_cast<T>(-1e30)));
    const V half = m.mul(finite, m.value(T{0.5}));
    return m.mul_add(half, m.erf(m.mul(x, m.value(static_cast<T>(0.70710678118654752440)))), half);
  }
};

// The same by tanh, as older networks have it.
struct GeluTanh {
  static constexpr ScalarOp op{.name = "GeluTanh", .function = "gelu", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    using T = typename Math::Lane;
    const V finite = m.at_least(x, m.value(static_cast<T>(-1e30)));
    const V half = m.mul(finite, m.value(T{0.5}));
    const V inner = m.mul_add(m.mul(m.mul(x, x), m.value(static_cast<T>(0.044715))), x, x);
    return m.mul_add(half, m.tanh(m.mul(inner, m.value(static_cast<T>(0.79788456080286535588)))), half);
  }
};
