// Integers of one and two bytes are worked on as i32: what comes out must be what their own width gives.
#include <limits>
#include <type_traits>

#include "kernels/operands.h"
#include "tutti/base/error.h"

namespace tutti::testing {

namespace {

// Both ends of the range, around zero, and around the number of bits.
template <class T>
std::vector<T> edges() {
  std::vector<T> all;
  for (const int x : {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 126, 127}) {
    all.push_back(static_cast<T>(x));
    all.push_back(static_cast<T>(-x));
    all.push_back(static_cast<T>(std::numeric_limits<T>::max() - x));
    all.push_back(static_cast<T>(std::numeric_limits<T>::min() + x));
  }
  return all;
}

template <class T>
T floor_divided(T a, T b) {
  const int quotient = a / b;
  return static_cast<T>(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}
template <class T>
T power(T base, T exponent) {
  std::uint32_t product = 1;
  for (int i = 0; i < exponent; ++i) product *= static_cast<std::uint32_t>(base);
  return static_cast<T>(product);
}

template <class T>
class Pairs {
 public:
  explicit Pairs(bool is_right_positive) : x_(dtype_of<T>, {1}, Lie::dense, random_), y_(dtype_of<T>, {1}, Lie::dense, random_) {
    for (const T a : edges<T>()) {
      for (const T b : edges<T>()) {
        if (is_right_positive && b <= 0) continue;
        left_.push_back(a);
        right_.push_back(b);
      }
    }
    x_ = fill(left_);
    y_ = fill(right_);
  }

  template <class Result, class F>
  void expect(const char* op, F&& f) {
    SCOPED_TRACE(::testing::Message() << op << " of " << to_string(dtype_of<T>));
    Serial serial;
    const Array out(dtype_of<Result>, {static_cast<std::int64_t>(left_.size())}, Lie::dense, random_);
    run_kernel(host_kernel(op), serial, {&x_, &y_}, out);
    for (std::size_t i = 0; i < left_.size(); ++i) {
      ASSERT_EQ(out.get<Result>(static_cast<std::int64_t>(i)), static_cast<Result>(f(left_[i], right_[i])))
          << +left_[i] << " and " << +right_[i];
    }
  }

 private:
  Array fill(const std::vector<T>& values) {
    Array out(dtype_of<T>, {static_cast<std::int64_t>(values.size())}, Lie::dense, random_);
    for (std::size_t i = 0; i < values.size(); ++i) out.set<T>(static_cast<std::int64_t>(i), values[i]);
    return out;
  }

  Random random_{1};
  std::vector<T> left_;
  std::vector<T> right_;
  Array x_;
  Array y_;
};

}  // namespace

template <class T>
class SmallIntegers : public ::testing::Test {};
using Small = ::testing::Types<std::uint8_t, std::int8_t, std::int16_t>;
TYPED_TEST_SUITE(SmallIntegers, Small);

TYPED_TEST(SmallIntegers, WrapShiftAndCompareInTheirOwnWidth) {
  using T = TypeParam;
  Pairs<T> pairs(false);
  pairs.template expect<T>("AddV2", [](T a, T b) { return a + b; });
  pairs.template expect<T>("Sub", [](T a, T b) { return a - b; });
  pairs.template expect<T>("Mul", [](T a, T b) { return a * b; });
  pairs.template expect<T>("Maximum", [](T a, T b) { return std::max(a, b); });
  pairs.template expect<T>("Minimum", [](T a, T b) { return std::min(a, b); });
  pairs.template expect<T>("BitwiseXor", [](T a, T b) { return a ^ b; });
  pairs.template expect<bool>("Less", [](T a, T b) { return a < b; });
  pairs.template expect<bool>("Equal", [](T a, T b) { return a == b; });
  constexpr int bits = 8 * sizeof(T);
  pairs.template expect<T>("LeftShift",
                           [](T a, T b) { return b < 0 || b >= bits ? 0 : static_cast<int>(static_cast<unsigned>(a) << b); });
  pairs.template expect<T>("RightShift", [](T a, T b) { return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b; });
}

TYPED_TEST(SmallIntegers, DivideAndRaiseInTheirOwnWidth) {
  using T = TypeParam;
  Pairs<T> pairs(true);
  pairs.template expect<T>("FloorDiv", [](T a, T b) { return floor_divided(a, b); });
  pairs.template expect<T>("FloorMod", [](T a, T b) { return a - floor_divided(a, b) * b; });
  pairs.template expect<T>("Pow", [](T a, T b) { return power(a, b); });
}

TYPED_TEST(SmallIntegers, TheSmallestByMinusOneWrapsAndByZeroFails) {
  using T = TypeParam;
  Random random(1);
  Serial serial;
  Array a(dtype_of<T>, {3}, Lie::dense, random);
  Array b(dtype_of<T>, {3}, Lie::dense, random);
  const Array out(dtype_of<T>, {3}, Lie::dense, random);
  for (std::int64_t i = 0; i < 3; ++i) {
    a.template set<T>(i, std::numeric_limits<T>::min());
    b.template set<T>(i, static_cast<T>(-1));
  }
  run_kernel(host_kernel("FloorDiv"), serial, {&a, &b}, out);
  // Without a sign it is 0 by 255.
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(out.template get<T>(i), std::numeric_limits<T>::min());
  b.template set<T>(1, T{0});
  EXPECT_THROW(run_kernel(host_kernel("FloorDiv"), serial, {&a, &b}, out), KernelFailed);
  EXPECT_THROW(run_kernel(host_kernel("FloorMod"), serial, {&a, &b}, out), KernelFailed);
}

}  // namespace tutti::testing
