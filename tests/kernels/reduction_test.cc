#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"
#include "tutti/exec/reduction_attributes.h"

namespace tutti::testing {

namespace {

double value_of(const Array& array, std::int64_t i) {
  double value = 0;
  visit_dtype(array.operand().dtype, [&]<class T>(T) { value = printable(array.get<T>(i)); });
  return value;
}

// The elements of each result, in row order, along one axis.
std::vector<std::vector<std::int64_t>> lines_of(const Sizes& sizes, std::size_t axis) {
  std::int64_t before = 1;
  std::int64_t after = 1;
  for (std::size_t i = 0; i < axis; ++i) before *= sizes[i];
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) after *= sizes[i];
  std::vector<std::vector<std::int64_t>> lines;
  for (std::int64_t b = 0; b < before; ++b) {
    for (std::int64_t a = 0; a < after; ++a) {
      auto& line = lines.emplace_back();
      for (std::int64_t i = 0; i < sizes[axis]; ++i) line.push_back((b * sizes[axis] + i) * after + a);
    }
  }
  return lines;
}

struct Expected {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  std::int64_t least_at = 0;
  std::int64_t most_at = 0;
  std::int64_t nonzero = 0;
  long double mean = 0;
  long double variance = 0;
  long double exponentials = 0;
  long double squares = 0;
};
Expected plain_loop(const Array& in, const std::vector<std::int64_t>& line) {
  Expected out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double x = value_of(in, line[i]);
    if (x < out.least) out.least_at = static_cast<std::int64_t>(i);
    if (x > out.most) out.most_at = static_cast<std::int64_t>(i);
    out.least = std::min(out.least, x);
    out.most = std::max(out.most, x);
    out.nonzero += x != 0 ? 1 : 0;
    out.mean += x;
    out.squares += static_cast<long double>(x) * x;
    out.exponentials += std::exp(static_cast<long double>(x));
  }
  out.mean /= static_cast<long double>(line.size());
  for (const std::int64_t at : line) {
    const long double apart = value_of(in, at) - out.mean;
    out.variance += apart * apart / static_cast<long double>(line.size());
  }
  return out;
}

template <class Attributes>
Array run(const char* op, const Array& in, DType dtype, std::size_t axis, const Attributes& attributes, Random& random,
          Parallel& parallel) {
  Sizes kept = in.sizes();
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
  Array out(dtype, kept, random_lie(random, false), random);
  const auto before = out.surroundings();
  run_kernel(host_kernel(op), parallel, {&in}, out, attributes);
  EXPECT_EQ(out.surroundings(), before) << op;
  return out;
}

void check_axis(DType dtype, const Sizes& sizes, std::size_t axis, Lie lie, Random& random, Parallel& parallel) {
  Array in(dtype, sizes, lie, random);
  in.fill(random);
  const ReductionAttributes over{1U << axis};
  const ArgumentAttributes along{static_cast<std::int32_t>(axis)};
  const auto reduce = [&](const char* op, DType gives) { return run(op, in, gives, axis, over, random, parallel); };
  const Array least = reduce("Min", dtype);
  const Array most = reduce("Max", dtype);
  const Array all = reduce("All", DType::boolean);
  const Array any = reduce("Any", DType::boolean);
  const Array count = reduce("CountNonzeroOnAxes", DType::i64);
  const Array least_at = run("ArgMin", in, DType::i64, axis, along, random, parallel);
  const Array most_at = run("ArgMax", in, DType::i64, axis, along, random, parallel);
  const auto lines = lines_of(sizes, axis);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const Expected expected = plain_loop(in, lines[k]);
    ASSERT_EQ(value_of(least, i), expected.least);
    ASSERT_EQ(value_of(most, i), expected.most);
    ASSERT_EQ(all.get<bool>(i), expected.nonzero == static_cast<std::int64_t>(lines[k].size()));
    ASSERT_EQ(any.get<bool>(i), expected.nonzero > 0);
    ASSERT_EQ(count.get<std::int64_t>(i), expected.nonzero);
    ASSERT_EQ(least_at.get<std::int64_t>(i), expected.least_at);
    ASSERT_EQ(most_at.get<std::int64_t>(i), expected.most_at);
  }
  if (!is_floating(dtype)) return;
  const Array variance = reduce("Var", dtype);
  const Array logarithm = reduce("LogSumExp", dtype);
  const Array norm = run("Norm", in, dtype, axis, ReductionAttributes{over.axes, 2}, random, parallel);
  const double rounding = dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : dtype == DType::f32 ? 0x1p-20 : 0x1p-48;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const Expected expected = plain_loop(in, lines[k]);
    const auto near = [&](const Array& found, long double exact, long double size) {
      return std::abs(value_of(found, i) - exact) <= rounding * size;
    };
    const long double sum = std::log(expected.exponentials);
    ASSERT_TRUE(near(variance, expected.variance, 1 + expected.variance)) << value_of(variance, i);
    ASSERT_TRUE(near(logarithm, sum, 4 + std::abs(sum))) << value_of(logarithm, i);
    ASSERT_TRUE(near(norm, std::sqrt(expected.squares), 1 + std::sqrt(expected.squares))) << value_of(norm, i);
  }
}

}  // namespace

void check_reductions(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Threads threads(3);
  for (const DType dtype : all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    Sizes sizes = random_sizes(random, 4);
    for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, 1);
    if (sizes.empty()) sizes.push_back(pick(random, 1, 100));
    const auto axis = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(sizes.size()) - 1));
    check_axis(dtype, sizes, axis, random_lie(random), random, threads);
  }
}

TEST(Reduction, AgreesWithAPlainLoopForAnyAxisDtypeAndLayout) {
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) check_reductions(seed);
}

TEST(Reduction, LongAndWideShapesAreRight) {
  Random random(11);
  Threads threads(2);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::i8, DType::boolean}) {
    SCOPED_TRACE(to_string(dtype));
    check_axis(dtype, {2, 100003}, 1, Lie::dense, random, threads);
    check_axis(dtype, {50021, 3}, 0, Lie::dense, random, threads);
    check_axis(dtype, {301, 700}, 0, Lie::dense, random, threads);
    check_axis(dtype, {301, 700}, 1, Lie::scattered, random, threads);
    check_axis(dtype, {40, 160, 20}, 1, Lie::dense, random, threads);
  }
}

TEST(Reduction, IsTheSameToTheLastBitOnAnyNumberOfCores) {
  Random random(12);
  for (const char* op : {"Var", "LogSumExp", "Norm", "Prod", "Mean"}) {
    for (const Sizes& sizes : {Sizes{400003}, Sizes{1300, 501}, Sizes{100001, 5}, Sizes{3, 100000}}) {
      Array in(DType::f32, sizes, Lie::dense, random);
      in.fill(random, true);
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        std::vector<std::vector<std::uint32_t>> results;
        for (const std::size_t width : {1U, 2U, 7U}) {
          Threads threads(width);
          Sizes kept = sizes;
          kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
          const Array out(DType::f32, kept, Lie::dense, random);
          run_kernel(host_kernel(op), threads, {&in}, out, ReductionAttributes{1U << axis, 2});
          results.emplace_back(out.operand().as<std::uint32_t>(), out.operand().as<std::uint32_t>() + out.count());
        }
        for (std::size_t i = 1; i < results.size(); ++i) EXPECT_EQ(results[i], results[0]) << op;
      }
    }
  }
}

}  // namespace tutti::testing
