// Random numbers: the same key gives the same bits everywhere, and they are spread as promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/elements.h"

namespace tutti {
namespace {

using testing_ops::all_dtypes;
using testing_ops::bytes_of;

std::vector<double> values_of(const Tensor& x) { return read<double>(cast(x, DType::f64)); }

TEST(Uniform, TheSameKeyGivesTheSameBitsOnEveryBackend) {
  simulate_gpus(2);
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{3, 0}, Shape{33, 129}, Shape{200'003}}) {
      SCOPED_TRACE(std::string(to_string(dtype)) + to_string(shape));
      const UniformOptions options{.key = 42, .low = -20, .high = 100, .dtype = dtype};
      const UniformOptions positive{.key = 42, .low = 2, .high = 100, .dtype = dtype};
      const UniformOptions& used = dtype == DType::u8 ? positive : options;
      std::vector<std::vector<std::byte>> found;
      for (const char* device : {"CPU:0", "GPU:0", "GPU:1"}) {
        const DeviceScope on(device);
        found.push_back(bytes_of(uniform(shape, used)));
      }
      EXPECT_EQ(found[0], found[1]);
      EXPECT_EQ(found[0], found[2]);
    }
  }
}

TEST(Uniform, DoesNotDependOnTheNumberOfCores) {
  set_num_threads(1);
  const auto alone = bytes_of(uniform({300'000}, {.key = 7}));
  set_num_threads(2);
  EXPECT_EQ(bytes_of(uniform({300'000}, {.key = 7})), alone);
}

TEST(Uniform, OtherKeysAndCountersGiveOtherNumbers) {
  std::set<std::vector<std::byte>> seen;
  for (const UniformOptions& options :
       {UniformOptions{.key = 0}, UniformOptions{.key = 1}, UniformOptions{.key = std::uint64_t{1} << 40U},
        UniformOptions{.key = 0, .counter = 1'000}, UniformOptions{.key = 0, .counter = std::uint64_t{1} << 40U}}) {
    EXPECT_TRUE(seen.insert(bytes_of(uniform({64}, options))).second);
  }
}

TEST(Uniform, StaysInsideTheIntervalAndFillsIt) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-3.0, 5.0}, {1000.0, 1001.0}, {-1e-3, 0.0}}) {
      SCOPED_TRACE(std::string(to_string(dtype)) + " from " + std::to_string(low) + " to " + std::to_string(high));
      const std::vector<double> x = values_of(uniform({100'000}, {.key = 3, .low = low, .high = high, .dtype = dtype}));
      const auto [least, most] = std::minmax_element(x.begin(), x.end());
      EXPECT_GE(*least, low);
      EXPECT_LT(*most, high);
      if (low == 1000.0 && size_of(dtype) == 2) continue;  // half precision has one or two numbers there
      double mean = 0;
      double square = 0;
      for (const double each : x) {
        const double unit = (each - low) / (high - low);
        mean += unit / static_cast<double>(x.size());
        square += unit * unit / static_cast<double>(x.size());
      }
      // Of 100000 draws the mean lies within five standard deviations (0.0046) of a half; bfloat16 rounds down by up to
      // half a step of 2^-8 more.
      EXPECT_NEAR(mean, 0.5, dtype == DType::bf16 ? 0.01 : 0.0046);
      EXPECT_NEAR(square - mean * mean, 1.0 / 12, 0.005);
    }
  }
}

TEST(Uniform, IntegersAreAllEquallyLikely) {
  for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
    SCOPED_TRACE(to_string(dtype));
    std::array<int, 10> counts{};
    for (const double each : values_of(uniform({100'000}, {.key = 11, .low = 3, .high = 13, .dtype = dtype}))) {
      ASSERT_TRUE(each >= 3 && each < 13) << each;
      ++counts[static_cast<std::size_t>(each) - 3];
    }
    for (const int count : counts) EXPECT_NEAR(count, 10'000, 475);  // five standard deviations
  }
  const double heads = static_cast<double>(item<std::int64_t>(sum(uniform({100'000}, {.key = 5, .dtype = DType::boolean}))));
  EXPECT_NEAR(heads, 50'000, 791);
}

TEST(Uniform, ReachesTheEndsOfAnIntegersRange) {
  std::set<double> seen;
  for (const double each : values_of(uniform({20'000}, {.key = 2, .low = 0, .high = 256, .dtype = DType::u8}))) seen.insert(each);
  EXPECT_EQ(seen.size(), 256U);
  const std::vector<double> signs = values_of(uniform({1000}, {.key = 2, .low = -0x1p63, .high = 0x1p63, .dtype = DType::i64}));
  EXPECT_LT(*std::min_element(signs.begin(), signs.end()), -0x1p61);
  EXPECT_GT(*std::max_element(signs.begin(), signs.end()), 0x1p61);
}

TEST(Uniform, TakesWholeNumbersBetweenFractionalBounds) {
  for (const double each : values_of(uniform({1000}, {.low = 0.5, .high = 2.5, .dtype = DType::i32})))
    EXPECT_TRUE(each == 1 || each == 2) << each;
}

}  // namespace
}  // namespace tutti
