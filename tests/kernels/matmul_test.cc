#include <tutti/kernels/cpu/blas.h>
#include <tutti/tensor/dtype_visit.h>

#include <cstdlib>

#include "kernels/operands.h"
#include "kernels/random_checks.h"

namespace tutti::testing {

namespace {

// The last two axes and any axes before them that both sides broadcast to.
void check_one(DType dtype, const Sizes& batch, std::int64_t m, std::int64_t n, std::int64_t k, std::array<Lie, 3> lies,
               Random& random, Parallel& parallel) {
  SCOPED_TRACE(::testing::Message() << to_string(dtype) << " " << m << " x " << k << " x " << n << ", batch of rank "
                                    << batch.size());
  const auto sizes = [&batch](std::int64_t rows, std::int64_t columns) {
    Sizes all = batch;
    all.push_back(rows);
    all.push_back(columns);
    return all;
  };
  Array a(dtype, sizes(m, k), lies[0], random);
  Array b(dtype, sizes(k, n), lies[1], random);
  const Array c(dtype, sizes(m, n), lies[2], random);
  a.fill(random, true);
  b.fill(random, true);
  const auto before = c.surroundings();
  run_kernel(host_kernel("MatMul"), parallel, {&a, &b}, c);
  EXPECT_EQ(c.surroundings(), before);
  visit_dtype(dtype, [&]<class T>(T) {
    for (std::int64_t at = 0; at < c.count(); ++at) {
      const std::int64_t matrix = at / (m * n);
      const std::int64_t row = at / n % m;
      const std::int64_t column = at % n;
      const auto left = [&](std::int64_t l) { return a.get<T>((matrix * m + row) * k + l); };
      const auto right = [&](std::int64_t l) { return b.get<T>((matrix * k + l) * n + column); };
      if constexpr (std::is_same_v<T, bool>) {
        bool any = false;
        for (std::int64_t l = 0; l < k; ++l) any = any || (left(l) && right(l));
        ASSERT_EQ(c.get<T>(at), any);
      } else if constexpr (std::is_integral_v<T>) {
        std::uint64_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += static_cast<std::uint64_t>(left(l)) * static_cast<std::uint64_t>(right(l));
        ASSERT_EQ(c.get<T>(at), static_cast<T>(sum));
      } else {
        // The usual bound: k roundings of the sum of the magnitudes, and one of the result.
        using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
        long double sum = 0;
        long double size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const long double term = static_cast<long double>(static_cast<Sum>(left(l))) * static_cast<Sum>(right(l));
          sum += term;
          size += std::abs(term);
        }
        long double rounding = 0;
        if (dtype == DType::f16) rounding = 0x1p-11L;
        if (dtype == DType::bf16) rounding = 0x1p-8L;
        const long double allowed = std::numeric_limits<Sum>::epsilon() * static_cast<long double>(k) * size +
                                    1.01L * rounding * std::abs(sum) + (rounding > 0 ? 1e-7L : 0.0L);
        const auto found = static_cast<long double>(static_cast<Sum>(c.get<T>(at)));
        ASSERT_LE(static_cast<double>(std::abs(found - sum)), static_cast<double>(allowed)) << "element " << at;
      }
    }
  });
}

}  // namespace

void check_products(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Threads threads(3);
  for (const DType dtype : all_dtypes) {
    Sizes batch(static_cast<std::size_t>(pick(random, 0, 2)));
    for (std::int64_t& size : batch) size = pick(random, 1, 4);
    const auto some = [&random] { return pick(random, 0, 12) == 0 ? pick(random, 0, 1) : pick(random, 1, 40); };
    const std::int64_t m = some();
    const std::int64_t n = some();
    const std::int64_t k = some();
    check_one(dtype, batch, m, n, k, {random_lie(random), random_lie(random), random_lie(random, false)}, random, threads);
  }
}

TEST(MatMul, AgreesWithAPlainLoopForEveryDtypeLayoutAndBatch) {
  for (std::uint64_t seed = 1; seed <= 80 && !HasFailure(); ++seed) check_products(seed);
}

TEST(MatMul, IsRightAcrossPanelEdgesAndCores) {
  Random random(3);
  for (const std::size_t width : {1U, 2U, 5U}) {
    Threads threads(width);
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i8, DType::i64, DType::boolean}) {
      check_one(dtype, {}, 261, 33, 517, {Lie::dense, Lie::dense, Lie::dense}, random, threads);
      check_one(dtype, {}, 5, 530, 600, {Lie::dense, Lie::scattered, Lie::dense}, random, threads);
      check_one(dtype, {3}, 70, 70, 80, {Lie::scattered, Lie::dense, Lie::scattered}, random, threads);
    }
    check_one(DType::f32, {}, 1, 3000, 700, {Lie::dense, Lie::dense, Lie::dense}, random, threads);
    check_one(DType::f32, {}, 3000, 1, 700, {Lie::dense, Lie::dense, Lie::dense}, random, threads);
    check_one(DType::f32, {12}, 40, 40, 60, {Lie::dense, Lie::broadcast, Lie::dense}, random, threads);
  }
}

TEST(MatMul, TakesKernelsForTheProcessorThatIsThereKnownToTheLibraryOrNot) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "a processor of before 2013";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "OPENBLAS_CORETYPE says which";
  EXPECT_NE(kernels::blas_core_name(), "Prescott");
}

TEST(MatMul, OverAnEmptyInnerAxisGivesZeros) {
  Random random(3);
  Serial serial;
  for (const DType dtype : all_dtypes) {
    check_one(dtype, {2}, 3, 4, 0, {Lie::dense, Lie::dense, Lie::scattered}, random, serial);
    check_one(dtype, {}, 0, 4, 2, {Lie::dense, Lie::dense, Lie::dense}, random, serial);
    check_one(dtype, {0}, 3, 4, 2, {Lie::dense, Lie::dense, Lie::dense}, random, serial);
  }
}

TEST(MatMul, NanAndInfinityReachTheResult) {
  Random random(3);
  Serial serial;
  Array a(DType::f32, {2, 2}, Lie::dense, random);
  Array b(DType::f32, {2, 2}, Lie::dense, random);
  const Array c(DType::f32, {2, 2}, Lie::dense, random);
  for (std::int64_t i = 0; i < 4; ++i) {
    a.set(i, 1.0F);
    b.set(i, 1.0F);
  }
  a.set(0, std::numeric_limits<float>::quiet_NaN());
  a.set(2, std::numeric_limits<float>::infinity());
  run_kernel(host_kernel("MatMul"), serial, {&a, &b}, c);
  EXPECT_TRUE(std::isnan(c.get<float>(0)));
  EXPECT_EQ(c.get<float>(2), std::numeric_limits<float>::infinity());
}

}  // namespace tutti::testing
