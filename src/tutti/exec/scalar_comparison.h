// Tests, comparisons and bits. A part of scalar_functions.h, which says how to include it.
struct Equal {
  static constexpr ScalarOp op{.name = "Equal", .function = "equal", .takes = any_dtype, .gives_bool = true, .wraps = true};
  TUTTI_OF_TWO(m.equal(a, b))
};
struct NotEqual {
  static constexpr ScalarOp op{
      .name = "NotEqual", .function = "not_equal", .takes = any_dtype, .gives_bool = true, .wraps = true};
  TUTTI_OF_TWO(m.differs(a, b))
};
// a > b is b < a: there is no third and fourth.
struct Less {
  static constexpr ScalarOp op{.name = "Less", .function = "less", .takes = numeric_dtypes, .gives_bool = true};
  TUTTI_OF_TWO(m.less(a, b))
};
struct LessEqual {
  static constexpr ScalarOp op{.name = "LessEqual", .function = "less_equal", .takes = numeric_dtypes, .gives_bool = true};
  TUTTI_OF_TWO(m.less_equal(a, b))
};

struct IsNan {
  static constexpr ScalarOp op{.name = "IsNan", .function = "isnan", .takes = floating_dtypes, .gives_bool = true};
  TUTTI_OF_ONE(m.differs(x, x))
};
struct IsInf {
  static constexpr ScalarOp op{.name = "IsInf", .function = "isinf", .takes = floating_dtypes, .gives_bool = true};
  TUTTI_OF_ONE(m.equal(m.abs(x), m.infinity()))
};
struct IsFinite {
  static constexpr ScalarOp op{.name = "IsFinite", .function = "isfinite", .takes = floating_dtypes, .gives_bool = true};
  TUTTI_OF_ONE(m.less(m.abs(x), m.infinity()))
};
struct SignBit {
  static constexpr ScalarOp op{.name = "SignBit", .function = "signbit", .takes = floating_dtypes, .gives_bool = true};
  TUTTI_OF_ONE(m.has_sign(x))
};

struct LogicalNot {
  static constexpr ScalarOp op{.name = "LogicalNot", .function = "logical_not", .takes = boolean_dtype};
  TUTTI_OF_ONE(m.one_of(x, m.value(1)))
};
struct Invert {
  static constexpr ScalarOp op{
      .name = "Invert", .function = "bitwise_invert", .takes = integer_dtypes | boolean_dtype, .wraps = true};
  using OfBools = LogicalNot;
  TUTTI_OF_ONE(m.invert(x))
};
struct BitwiseAnd {
  static constexpr ScalarOp op{
      .name = "BitwiseAnd", .function = "bitwise_and", .takes = integer_dtypes | boolean_dtype, .wraps = true};
  TUTTI_OF_TWO(m.both(a, b))
};
struct BitwiseOr {
  static constexpr ScalarOp op{
      .name = "BitwiseOr", .function = "bitwise_or", .takes = integer_dtypes | boolean_dtype, .wraps = true};
  TUTTI_OF_TWO(m.either(a, b))
};
struct BitwiseXor {
  static constexpr ScalarOp op{
      .name = "BitwiseXor", .function = "bitwise_xor", .takes = integer_dtypes | boolean_dtype, .wraps = true};
  TUTTI_OF_TWO(m.one_of(a, b))
};
// A count that is negative or not below the number of bits moves all of them out: 0, or the sign to the right.
struct LeftShift {
  static constexpr ScalarOp op{.name = "LeftShift", .function = "bitwise_left_shift", .takes = integer_dtypes, .wraps = true};
  TUTTI_OF_TWO(m.shift_left(a, b))
};
struct RightShift {
  static constexpr ScalarOp op{.name = "RightShift", .function = "bitwise_right_shift", .takes = integer_dtypes};
  TUTTI_OF_TWO(m.shift_right(a, b))
};
