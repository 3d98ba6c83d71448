#include <bit>

#include "kernels/operands.h"
#include "tutti/exec/scalar_op.h"

namespace tutti::testing {

namespace {

#include "tutti/exec/scalar_functions.h"

// The primitives over plain numbers: what a backend without vectors would write.
template <class T>
struct PlainMath {
  using Lane = T;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  T value(T x) const { return x; }
  T infinity() const { return std::numeric_limits<T>::infinity(); }
  T add(T a, T b) const { return a + b; }
  T sub(T a, T b) const { return a - b; }
  T mul(T a, T b) const { return a * b; }
  T div(T a, T b) const { return a / b; }
  T mul_add(T a, T b, T c) const { return std::fma(a, b, c); }
  T abs(T x) const { return std::abs(x); }
  T negate(T x) const { return -x; }
  bool less(T a, T b) const { return a < b; }
  bool equal(T a, T b) const { return a == b; }
  bool has_sign(T x) const { return std::signbit(x); }
  T select(bool mask, T a, T b) const { return mask ? a : b; }
  T at_least(T x, T low) const { return x < low ? low : x; }
  T at_most(T x, T high) const { return high < x ? high : x; }
  T larger(T a, T b) const { return a < b || b != b ? b : a; }
  T smaller(T a, T b) const { return b < a || b != b ? b : a; }
  T log1p(T x) const { return std::log1p(x); }
  T erf(T x) const { return std::erf(x); }
  T tanh(T x) const { return std::tanh(x); }
  T into_exponent(T v) const { return std::bit_cast<T>(std::bit_cast<Bits>(v) << (sizeof(T) == 4 ? 23U : 52U)); }
};

}  // namespace

TEST(ScalarFunctions, WorkOnSingleNumbersToo) {
  const PlainMath<float> f;
  const PlainMath<double> d;
  EXPECT_EQ(Add::apply(f, 2.0F, 3.0F), 5.0F);
  EXPECT_EQ(Multiply::apply(d, 2.0, 3.0), 6.0);
  EXPECT_EQ(Relu::apply(f, -2.0F), 0.0F);
  EXPECT_TRUE(std::isnan(Relu::apply(f, std::numeric_limits<float>::quiet_NaN())));
  for (int i = -10400; i < 8900; ++i) {
    const float x = static_cast<float>(i) / 100;
    ASSERT_LE(static_cast<double>(ulps(Exp::apply(f, x), std::exp(static_cast<long double>(x)))), 1.0) << x;
    const double y = static_cast<double>(i) / 15;
    ASSERT_LE(static_cast<double>(ulps(Exp::apply(d, y), std::exp(static_cast<long double>(y)))), 1.0) << y;
  }
}

TEST(ScalarFunctions, ActivationsMeetTheirLimits) {
  const PlainMath<float> f;
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Sigmoid::apply(f, 0.0F), 0.5F);
  EXPECT_EQ(Sigmoid::apply(f, inf), 1.0F);
  EXPECT_EQ(Sigmoid::apply(f, -inf), 0.0F);
  EXPECT_GT(Sigmoid::apply(f, -100.0F), 0.0F);
  EXPECT_EQ(Silu::apply(f, -inf), 0.0F);
  EXPECT_EQ(Silu::apply(f, inf), inf);
  EXPECT_EQ(Gelu::apply(f, -inf), 0.0F);
  EXPECT_EQ(Gelu::apply(f, inf), inf);
  EXPECT_EQ(GeluTanh::apply(f, -inf), 0.0F);
  EXPECT_EQ(GeluTanh::apply(f, 1e30F), 1e30F);
  EXPECT_TRUE(std::isnan(Silu::apply(f, nan)));
  EXPECT_TRUE(std::isnan(Gelu::apply(f, nan)));
  EXPECT_TRUE(std::isnan(GeluTanh::apply(f, nan)));
  EXPECT_TRUE(std::isnan(Sigmoid::apply(f, nan)));
}

TEST(ScalarFunctions, TheLogarithmOfASumOfPowersMeetsInfinities) {
  const PlainMath<double> d;
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(LogAddExp::apply(d, -inf, -inf), -inf);
  EXPECT_EQ(LogAddExp::apply(d, inf, -inf), inf);
  EXPECT_EQ(LogAddExp::apply(d, inf, inf), inf);
  EXPECT_EQ(LogAddExp::apply(d, -inf, 3.0), 3.0);
  EXPECT_TRUE(std::isnan(LogAddExp::apply(d, 1.0, std::nan(""))));
  EXPECT_EQ(Maximum::apply(d, std::nan(""), 1.0) == 1.0, false);
  EXPECT_EQ(Clip::apply(d, 7.0, 0.0, 5.0), 5.0);
}

TEST(ScalarFunctions, IntegersDivideTowardsMinusInfinityAndSayWhenTheyCannot) {
  bool fails = false;
  for (const int a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (const int b : {-3, -2, -1, 1, 2, 3}) {
      const int quotient = static_cast<int>(std::floor(static_cast<double>(a) / b));
      EXPECT_EQ(FloorDivide::of_integers(a, b, fails), quotient) << a << " / " << b;
      EXPECT_EQ(Remainder::of_integers(a, b, fails), a - quotient * b) << a << " % " << b;
    }
  }
  constexpr auto least = std::numeric_limits<std::int8_t>::min();
  EXPECT_EQ(FloorDivide::of_integers(least, std::int8_t{-1}, fails), least);
  EXPECT_EQ(Remainder::of_integers(least, std::int8_t{-1}, fails), 0);
  EXPECT_EQ(Power::of_integers(std::int8_t{-3}, std::int8_t{5}, fails), static_cast<std::int8_t>(-243));
  EXPECT_EQ(Power::of_integers(std::uint8_t{7}, std::uint8_t{0}, fails), 1);
  EXPECT_FALSE(fails);
  FloorDivide::of_integers(1, 0, fails);
  EXPECT_TRUE(fails);
  Remainder::of_integers(1, 0, fails = false);
  EXPECT_TRUE(fails);
  Power::of_integers(2, -1, fails = false);
  EXPECT_TRUE(fails);
}

}  // namespace tutti::testing
