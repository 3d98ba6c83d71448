// Comparisons and tests give bools, whatever the width of the lanes they are made from.
#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"

namespace tutti::testing {

namespace {

template <class T, class Expected>
void check(const char* op, const std::vector<const Array*>& inputs, Random& random, Expected&& expected) {
  SCOPED_TRACE(op);
  Threads threads(2);
  const Array out(DType::boolean, inputs[0]->sizes(), random_lie(random, false), random);
  const auto before = out.surroundings();
  run_kernel(host_kernel(op), threads, inputs, out);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::uint8_t stored = out.operand().as<std::uint8_t>()[out.offset(i)];
    ASSERT_EQ(stored, expected(i) ? 1 : 0) << "element " << i << " of " << out.count();
  }
  EXPECT_EQ(out.surroundings(), before) << "wrote outside its elements";
}

template <class T>
auto plain(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

}  // namespace

// Equal elements are as frequent as others.
void check_comparisons(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  for (const DType dtype : all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    const Sizes sizes = pick(random, 0, 1) == 0 ? Sizes{pick(random, 0, 300)} : random_sizes(random);
    Array a(dtype, sizes, random_lie(random), random);
    Array b(dtype, sizes, random_lie(random), random);
    a.fill(random);
    b.fill(random);
    visit_dtype(dtype, [&]<class T>(T) {
      const auto left = [&](std::int64_t i) { return plain(a.get<T>(i)); };
      const auto right = [&](std::int64_t i) { return plain(b.get<T>(i)); };
      for (std::int64_t i = 0; i < a.count(); ++i) {
        if constexpr (!std::is_integral_v<T>) {
          if (pick(random, 0, 6) == 0) a.set<T>(i, T(std::numeric_limits<float>::quiet_NaN()));
          if (pick(random, 0, 6) == 0) b.set<T>(i, T(std::numeric_limits<float>::infinity()));
        }
        if (pick(random, 0, 1) == 0) {
          if constexpr (std::is_same_v<T, bool>) {
            b.set<std::uint8_t>(i, a.get<bool>(i) ? 1 : 0);
          } else {
            b.set<T>(i, a.get<T>(i));
          }
        }
      }
      check<T>("Equal", {&a, &b}, random, [&](std::int64_t i) { return left(i) == right(i); });
      check<T>("NotEqual", {&a, &b}, random, [&](std::int64_t i) { return left(i) != right(i); });
      if constexpr (!std::is_same_v<T, bool>) {
        check<T>("Less", {&a, &b}, random, [&](std::int64_t i) { return left(i) < right(i); });
        check<T>("LessEqual", {&a, &b}, random, [&](std::int64_t i) { return left(i) <= right(i); });
      }
      if constexpr (!std::is_integral_v<T>) {
        check<T>("IsNan", {&a}, random, [&](std::int64_t i) { return std::isnan(left(i)); });
        check<T>("IsInf", {&b}, random, [&](std::int64_t i) { return std::isinf(right(i)); });
        check<T>("IsFinite", {&a}, random, [&](std::int64_t i) { return std::isfinite(left(i)); });
        check<T>("SignBit", {&a}, random, [&](std::int64_t i) { return std::signbit(left(i)); });
      }
    });
  }
}

TEST(Comparisons, AgreeWithAPlainLoopForEveryDtypeAndLayout) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) check_comparisons(seed);
}

}  // namespace tutti::testing
