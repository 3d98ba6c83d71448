// Sums, products, extremes and signs. A part of scalar_functions.h, which says how to include it.
struct LogicalOr {
  static constexpr ScalarOp op{.name = "LogicalOr", .function = "logical_or", .takes = boolean_dtype};
  TUTTI_OF_TWO(m.either(a, b))
};
struct LogicalAnd {
  static constexpr ScalarOp op{.name = "LogicalAnd", .function = "logical_and", .takes = boolean_dtype};
  TUTTI_OF_TWO(m.both(a, b))
};

// What they mean for bool, kept as 0 and 1, stands in OfBools.
struct Add {
  static constexpr ScalarOp op{.name = "AddV2", .function = "add", .takes = any_dtype, .wraps = true};
  using OfBools = LogicalOr;
  TUTTI_OF_TWO(m.add(a, b))
};
struct Multiply {
  static constexpr ScalarOp op{.name = "Mul", .function = "multiply", .takes = any_dtype, .wraps = true};
  using OfBools = LogicalAnd;
  TUTTI_OF_TWO(m.mul(a, b))
};
struct Subtract {
  static constexpr ScalarOp op{.name = "Sub", .function = "subtract", .takes = numeric_dtypes, .wraps = true};
  TUTTI_OF_TWO(m.sub(a, b))
};
struct Divide {
  static constexpr ScalarOp op{.name = "RealDiv", .function = "divide", .takes = floating_dtypes};
  TUTTI_OF_TWO(m.div(a, b))
};

// NaN wins.
struct Maximum {
  static constexpr ScalarOp op{.name = "Maximum", .function = "maximum", .takes = numeric_dtypes};
  TUTTI_OF_TWO(m.larger(a, b))
};
struct Minimum {
  static constexpr ScalarOp op{.name = "Minimum", .function = "minimum", .takes = numeric_dtypes};
  TUTTI_OF_TWO(m.smaller(a, b))
};
struct Clip {
  static constexpr ScalarOp op{.name = "ClipByValue", .function = "clip", .takes = numeric_dtypes};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x, V low, V high) {
    return m.smaller(m.larger(x, low), high);
  }
};

// What moves the sign alone says in OfHalfBits what it does to the 16 bits of f16 and bf16.

// The smallest signed integer stays as it is.
struct Abs {
  static constexpr ScalarOp op{.name = "Abs", .function = "abs", .takes = signed_integers | floating_dtypes};
  TUTTI_OF_ONE(m.abs(x))
  struct OfHalfBits {
    static constexpr ScalarOp op = Abs::op;
    TUTTI_OF_ONE(m.both(x, m.value(0x7fff)))
  };
};
struct Negative {
  static constexpr ScalarOp op{.name = "Neg", .function = "negative", .takes = numeric_dtypes, .wraps = true};
  TUTTI_OF_ONE(m.negate(x))
  struct OfHalfBits {
    static constexpr ScalarOp op = Negative::op;
    TUTTI_OF_ONE(m.one_of(x, m.value(0x8000)))
  };
};
// NaN stays; both zeros give 0.
struct Sign {
  static constexpr ScalarOp op{.name = "Sign", .function = "sign", .takes = numeric_dtypes};
  template <class Math, class V>
  static TUTTI_SCALAR_FUNCTION V apply(const Math& m, V x) {
    using T = typename Math::Lane;
    const V zero = m.value(T{0});
    const V positive = m.select(m.less(zero, x), m.value(T{1}), m.select(m.equal(x, zero), zero, x));
    if constexpr (static_cast<T>(-1) < T{0}) {
      return m.select(m.less(x, zero), m.value(static_cast<T>(-1)), positive);
    } else {
      return positive;
    }
  }
};
struct Square {
  static constexpr ScalarOp op{.name = "Square", .function = "square", .takes = numeric_dtypes, .wraps = true};
  TUTTI_OF_ONE(m.mul(x, x))
};
struct Sqrt {
  static constexpr ScalarOp op{.name = "Sqrt", .function = "sqrt", .takes = floating_dtypes};
  TUTTI_OF_ONE(m.sqrt(x))
};
struct CopySign {
  static constexpr ScalarOp op{.name = "CopySign", .function = "copysign", .takes = floating_dtypes};
  TUTTI_OF_TWO(m.copy_sign(a, b))
  struct OfHalfBits {
    static constexpr ScalarOp op = CopySign::op;
    TUTTI_OF_TWO(m.either(m.both(a, m.value(0x7fff)), m.both(b, m.value(0x8000))))
  };
};

struct Floor {
  static constexpr ScalarOp op{.name = "Floor", .function = "floor", .takes = floating_dtypes};
  TUTTI_OF_ONE(m.floor(x))
};
struct Ceil {
  static constexpr ScalarOp op{.name = "Ceil", .function = "ceil", .takes = floating_dtypes};
  TUTTI_OF_ONE(m.ceil(x))
};
struct Trunc {
  static constexpr ScalarOp op{.name = "Trunc", .function = "trunc", .takes = floating_dtypes};
  TUTTI_OF_ONE(m.trunc(x))
};
// Halves go to the even neighbour.
struct Round {
  static constexpr ScalarOp op{.name = "Rint", .function = "round", .takes = floating_dtypes};
  TUTTI_OF_ONE(m.round(x))
};
