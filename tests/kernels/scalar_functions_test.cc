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
  T add(T a, T b) const { return a + b; }
  T sub(T a, T b) const { return a - b; }
  T mul(T a, T b) const { return a * b; }
  T mul_add(T a, T b, T c) const { return std::fma(a, b, c); }
  bool less(T a, T b) const { return a < b; }
  T select(bool mask, T a, T b) const { return mask ? a : b; }
  T at_least(T x, T low) const { return x < low ? low : x; }
  T at_most(T x, T high) const { return high < x ? high : x; }
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

}  // namespace tutti::testing
