// Random draws other than uniform floats: the same everywhere, spread as promised, and refused where they make no sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/elements.h"

namespace tutti {
namespace {

using testing_ops::all_dtypes;
using testing_ops::bytes_of;

std::vector<double> values_of(const Tensor& x) { return read<double>(cast(x, DType::f64)); }

TEST(RandomDraws, TheSameKeyGivesTheSameBitsOnEveryBackend) {
  simulate_gpus(1);
  const auto draws = [] {
    std::vector<std::vector<std::byte>> out;
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 0}, Shape{33, 129}, Shape{200'003}}) {
      for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64})
        out.push_back(bytes_of(normal(shape, {.key = 42, .mean = 1, .stddev = 3, .dtype = dtype})));
      for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64})
        out.push_back(bytes_of(randint(shape, 0, 100, {.key = 42, .dtype = dtype})));
      for (const DType dtype : all_dtypes) out.push_back(bytes_of(bernoulli(shape, 0.3, {.key = 42, .dtype = dtype})));
    }
    out.push_back(bytes_of(permutation(10'000, {.key = 42})));
    return out;
  };
  const auto host = draws();
  const DeviceScope on("GPU:0");
  EXPECT_EQ(draws(), host);
}

TEST(RandomDraws, DoNotDependOnTheNumberOfCores) {
  const auto draws = [] {
    return std::vector{bytes_of(normal({300'001}, {.key = 7})), bytes_of(normal({300'001}, {.key = 7, .dtype = DType::f64})),
                       bytes_of(permutation(200'000, {.key = 7}))};
  };
  set_num_threads(1);
  const auto alone = draws();
  set_num_threads(2);
  EXPECT_EQ(draws(), alone);
}

// Of n draws the mean lies within five standard deviations, 5 / sqrt(n), of 0, and so do higher moments by theirs.
TEST(RandomDraws, NormalHasTheMomentsAndTailsOfTheDistribution) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    SCOPED_TRACE(to_string(dtype));
    constexpr int n = 400'000;
    const std::vector<double> x = values_of(normal({n}, {.key = 3, .dtype = dtype}));
    double mean = 0;
    double square = 0;
    double third = 0;
    double fourth = 0;
    double product = 0;  // of neighbours: cosine and sine of one radius
    int beyond_2 = 0;
    int beyond_4 = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean += x[i] / n;
      square += x[i] * x[i] / n;
      third += x[i] * x[i] * x[i] / n;
      fourth += x[i] * x[i] * x[i] * x[i] / n;
      product += x[i] * x[i ^ 1U] / n;
      beyond_2 += std::abs(x[i]) > 2 ? 1 : 0;
      beyond_4 += std::abs(x[i]) > 4 ? 1 : 0;
    }
    const double unit = 5 / std::sqrt(n);
    EXPECT_NEAR(mean, 0, unit);
    EXPECT_NEAR(square, 1, unit * std::sqrt(2));
    EXPECT_NEAR(third, 0, unit * std::sqrt(15));
    EXPECT_NEAR(fourth, 3, unit * std::sqrt(96));
    EXPECT_NEAR(product, 0, unit * std::sqrt(2));
    const double expected = n * std::erfc(2 / std::sqrt(2.0));
    // bfloat16 has steps of 1/128 below 2 and 1/64 above: up to 3 % of those beyond 2 are rounded to it.
    EXPECT_NEAR(beyond_2, expected, 5 * std::sqrt(expected) + (dtype == DType::bf16 ? 0.03 * expected : 0));
    EXPECT_GT(beyond_4, 5);
    EXPECT_LT(beyond_4, 60);  // 25 expected
  }
}

TEST(RandomDraws, NormalIsShiftedAndScaled) {
  const std::vector<double> plain = values_of(normal({1000}, {.key = 9, .dtype = DType::f64}));
  const std::vector<double> moved = values_of(normal({1000}, {.key = 9, .mean = -3, .stddev = 0.5, .dtype = DType::f64}));
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(moved[i], plain[i] * 0.5 - 3);
  for (const double each : values_of(normal({10}, {.mean = 2, .stddev = 0}))) EXPECT_EQ(each, 2);
}

TEST(RandomDraws, RandintReachesBothEndsAndWholeRanges) {
  const std::vector<std::int64_t> dice = read<std::int64_t>(randint({60'000}, 1, 7, {.key = 1}));
  for (std::int64_t face = 1; face <= 6; ++face)
    EXPECT_NEAR(static_cast<double>(std::count(dice.begin(), dice.end(), face)), 10'000, 457);  // five standard deviations
  constexpr std::int64_t high = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t each : read<std::int64_t>(randint({1000}, high - 2, high))) EXPECT_GE(each, high - 2);
  const std::vector<std::uint8_t> bytes = read<std::uint8_t>(randint({20'000}, 0, 256, {.dtype = DType::u8}));
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 255);
}

TEST(RandomDraws, BernoulliGivesOnesAsOftenAsAsked) {
  for (const double p : {0.0, 0.01, 0.5, 0.9, 1.0}) {
    const double ones = static_cast<double>(item<std::int64_t>(sum(bernoulli({100'000}, p, {.key = 5}))));
    EXPECT_NEAR(ones, 100'000 * p, 5 * std::sqrt(100'000 * p * (1 - p)));
  }
}

TEST(RandomDraws, PermutationHasEveryElementOnceAndEveryPlaceIsAsLikely) {
  std::vector<std::int64_t> order = read<std::int64_t>(permutation(50'000, {.key = 4}));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<std::int64_t>(i));
  std::array<int, 24> seen{};
  for (std::uint64_t key = 0; key < 4'800; ++key) {
    const std::vector<std::int64_t> four = read<std::int64_t>(permutation(4, {.key = key}));
    std::size_t number = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto before = std::count_if(four.begin() + static_cast<std::ptrdiff_t>(i), four.end(),
                                        [&](std::int64_t other) { return other < four[i]; });
      number = number * (4 - i) + static_cast<std::size_t>(before);
    }
    ++seen[number];
  }
  for (const int count : seen) EXPECT_NEAR(count, 200, 70);  // five standard deviations
}

TEST(RandomDraws, WhatCannotBeDrawnIsRefusedAtTheCall) {
  EXPECT_THROW(normal({3}, {.dtype = DType::i32}), DTypeError);
  EXPECT_THROW(normal({3}, {.stddev = -1}), InvalidArgument);
  EXPECT_THROW(normal({3}, {.mean = std::nan("")}), InvalidArgument);
  EXPECT_THROW(randint({3}, 5, 5), InvalidArgument);
  EXPECT_THROW(randint({3}, 0, 257, {.dtype = DType::u8}), InvalidArgument);
  EXPECT_THROW(randint({3}, 0, 5, {.dtype = DType::f32}), DTypeError);
  EXPECT_THROW(bernoulli({3}, 1.5), InvalidArgument);
  EXPECT_THROW(bernoulli({3}, std::nan("")), InvalidArgument);
  EXPECT_THROW(permutation(-1), InvalidArgument);
  EXPECT_THROW(permutation(ones({})), ShapeError);
}

}  // namespace
}  // namespace tutti
