#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"
#include "tutti/exec/reduction_attributes.h"

namespace tutti::testing {

namespace {

DType sum_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::i64; }

Sizes kept_sizes(const Sizes& sizes, std::uint32_t mask) {
  Sizes kept;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((mask >> i & 1U) == 0) kept.push_back(sizes[i]);
  }
  return kept;
}

// For every element of the input, the number in row order of the output element it belongs to.
std::vector<std::int64_t> destinations(const Sizes& sizes, std::uint32_t mask, std::int64_t count) {
  std::vector<std::int64_t> to(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::int64_t step = 1;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if ((mask >> axis & 1U) == 0) {
        to[static_cast<std::size_t>(i)] += rest % sizes[axis] * step;
        step *= sizes[axis];
      }
      rest /= sizes[axis];
    }
  }
  return to;
}

void check_one(DType dtype, const Sizes& sizes, std::uint32_t mask, Lie lie, Random& random, Parallel& parallel) {
  Array in(dtype, sizes, lie, random);
  in.fill(random, true);
  const Array out(sum_dtype(dtype), kept_sizes(sizes, mask), random_lie(random, false), random);
  const auto before = out.surroundings();
  run_kernel(host_kernel("Sum"), parallel, {&in}, out, ReductionAttributes{mask});
  EXPECT_EQ(out.surroundings(), before);
  const auto to = destinations(sizes, mask, in.count());
  const auto n = static_cast<std::size_t>(out.count());
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      std::vector<std::uint64_t> sums(n);
      for (std::int64_t i = 0; i < in.count(); ++i) {
        sums[static_cast<std::size_t>(to[static_cast<std::size_t>(i)])] += static_cast<std::uint64_t>(in.get<T>(i));
      }
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(out.get<std::int64_t>(static_cast<std::int64_t>(i)), static_cast<std::int64_t>(sums[i])) << "sum " << i;
      }
    } else {
      // Pairwise: an error of log2(n) roundings of the sum of the magnitudes, and one rounding of the result.
      using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
      std::vector<long double> sums(n);
      std::vector<long double> sizes_of(n);
      for (std::int64_t i = 0; i < in.count(); ++i) {
        const auto at = static_cast<std::size_t>(to[static_cast<std::size_t>(i)]);
        const long double x = static_cast<long double>(static_cast<Sum>(in.get<T>(i)));
        sums[at] += x;
        sizes_of[at] += std::abs(x);
      }
      const long double terms = n == 0 ? 1.0L : static_cast<long double>(in.count()) / static_cast<long double>(n) + 2;
      long double result_rounding = 0;
      if (dtype == DType::f16) result_rounding = 0x1p-11L;
      if (dtype == DType::bf16) result_rounding = 0x1p-8L;
      for (std::size_t i = 0; i < n; ++i) {
        const auto found = static_cast<long double>(static_cast<Sum>(out.get<T>(static_cast<std::int64_t>(i))));
        const long double allowed = std::numeric_limits<Sum>::epsilon() * (std::log2(terms) + 2) * sizes_of[i] +
                                    result_rounding * std::abs(sums[i]) * 1.01L + 1e-7L * (result_rounding > 0 ? 1 : 0);
        ASSERT_LE(static_cast<double>(std::abs(found - sums[i])), static_cast<double>(allowed)) << "sum " << i;
      }
    }
  });
}

}  // namespace

void check_sums(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Threads threads(3);
  for (const DType dtype : all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    const Sizes sizes = random_sizes(random, 5);
    const auto mask = static_cast<std::uint32_t>(pick(random, 0, (1 << sizes.size()) - 1));
    check_one(dtype, sizes, mask, random_lie(random), random, threads);
  }
}

TEST(Sum, AgreesWithAPlainLoopForAnyAxesDtypeAndLayout) {
  for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) check_sums(seed);
}

TEST(Sum, LongAndWideShapesAreRight) {
  Random random(9);
  Threads threads(2);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::boolean}) {
    SCOPED_TRACE(to_string(dtype));
    check_one(dtype, {300001}, 1, Lie::dense, random, threads);     // one long sum
    check_one(dtype, {3, 100003}, 2, Lie::dense, random, threads);  // a few long sums
    check_one(dtype, {100003, 3}, 1, Lie::dense, random, threads);  // narrow rows
    check_one(dtype, {50021, 3}, 2, Lie::dense, random, threads);   // many short sums
    check_one(dtype, {401, 700}, 1, Lie::dense, random, threads);   // wide rows
    check_one(dtype, {401, 700}, 2, Lie::dense, random, threads);
    check_one(dtype, {40, 60, 70}, 5, Lie::scattered, random, threads);
    check_one(dtype, {40, 60, 70}, 2, Lie::dense, random, threads);
  }
}

TEST(Sum, OfNothingIsZero) {
  Random random(9);
  Serial serial;
  for (const DType dtype : all_dtypes) {
    check_one(dtype, {0}, 1, Lie::dense, random, serial);
    check_one(dtype, {4, 0, 3}, 2, Lie::dense, random, serial);
    check_one(dtype, {0, 3}, 2, Lie::dense, random, serial);
  }
}

TEST(Sum, IsTheSameToTheLastBitOnAnyNumberOfCores) {
  Random random(10);
  for (const Sizes& sizes : {Sizes{1000003}, Sizes{1300, 1001}, Sizes{100001, 5}, Sizes{3, 200000}}) {
    for (std::uint32_t mask = 1; mask < 1U << sizes.size(); ++mask) {
      for (const Lie lie : {Lie::dense, Lie::scattered}) {
        Array in(DType::f32, sizes, lie, random);
        in.fill(random, true);
        std::vector<std::vector<float>> results;
        for (const std::size_t width : {1U, 2U, 3U, 7U}) {
          Threads threads(width);
          const Array out(DType::f32, kept_sizes(sizes, mask), Lie::dense, random);
          run_kernel(host_kernel("Sum"), threads, {&in}, out, ReductionAttributes{mask});
          results.emplace_back(out.operand().as<float>(), out.operand().as<float>() + out.count());
        }
        for (std::size_t i = 1; i < results.size(); ++i) EXPECT_EQ(results[i], results[0]);
      }
    }
  }
}

TEST(Sum, ManyEqualTermsLoseNothing) {
  Random random(1);
  Threads threads(2);
  const std::int64_t n = std::int64_t{1} << 25;  // one by one in f32 this would stop at 2^24
  const Array in(DType::f32, {n}, Lie::dense, random);
  std::fill_n(in.operand().as<float>(), n, 1.0F);
  const Array out(DType::f32, {}, Lie::dense, random);
  run_kernel(host_kernel("Sum"), threads, {&in}, out, ReductionAttributes{1});
  EXPECT_EQ(out.get<float>(0), static_cast<float>(n));
}

}  // namespace tutti::testing
