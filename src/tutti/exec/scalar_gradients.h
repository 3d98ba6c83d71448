// Gradients of activations as element-wise ops of their own, where rules made of others would take a pass for each. Included
// behind scalar_functions.h, as that file says of itself, by those alone that compile or name them.
// The gradient where the activation let its input through; y is what it gave.
struct ReluGrad {
  static constexpr ScalarOp op{.name = "ReluGrad", .function = "relu", .takes = floating_dtypes};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V gradient, V y) {
    const V zero = m.value(typename Math::Lane{0});
    return m.select(m.less(zero, y), gradient, zero);
  }
};

// The gradient times the slope at x: the chance that a standard normal number lies below it, and x times its density.
struct GeluGrad {
  static constexpr ScalarOp op{.name = "GeluGrad", .function = "gelu", .takes = floating_dtypes};
  static constexpr bool is_heavy = true;
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V gradient, V x) {
    using T = typename Math::Lane;
    const V half = m.value(T{0.5});
    const V share = m.mul_add(half, m.erf(m.mul(x, m.value(static_cast<T>(0.70710678118654752440)))), half);
    // Far out the density is 0, and must not meet an infinity.
    const V near = m.at_most(m.at_least(x, m.value(T{-64})), m.value(T{64}));
    const V density =
        m.mul(Exp::apply(m, m.mul(m.mul(near, near), m.value(T{-0.5}))), m.value(static_cast<T>(0.39894228040143267794)));
    return m.mul(gradient, m.mul_add(near, density, share));
  }
};

using ActivationGradients = ScalarOps<2, ReluGrad, GeluGrad>;
