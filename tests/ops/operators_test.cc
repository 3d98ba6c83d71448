// Operators of tensors and numbers, the dtypes they refuse, and the line they keep.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

TEST(Operators, MeanWhatTheyMeanForNumbers) {
  const Tensor x = constant({1.F, -2.F, 4.5F});
  EXPECT_EQ(read<float>(x - 1), (std::vector{0.F, -3.F, 3.5F}));
  EXPECT_EQ(read<float>(1 - x), (std::vector{0.F, 3.F, -3.5F}));
  EXPECT_EQ(read<float>(x / 2), (std::vector{0.5F, -1.F, 2.25F}));
  EXPECT_EQ(read<float>(x % 3), (std::vector{1.F, 1.F, 1.5F}));
  EXPECT_EQ(read<float>(-x), (std::vector{-1.F, 2.F, -4.5F}));
  const Tensor n = constant({12, 10});
  EXPECT_EQ(read<std::int32_t>(n & 6), (std::vector{4, 2}));
  EXPECT_EQ(read<std::int32_t>(n | 1), (std::vector{13, 11}));
  EXPECT_EQ(read<std::int32_t>(n ^ n), (std::vector{0, 0}));
  EXPECT_EQ(read<std::int32_t>(~n), (std::vector{-13, -11}));
}

TEST(Operators, ComparisonsGiveBoolsThatCombine) {
  const Tensor x = constant({1.F, 2.F, 3.F, 4.F});
  EXPECT_EQ(read<bool>((x > 1) & (x < 4)), (std::vector{false, true, true, false}));
  EXPECT_EQ(read<bool>((x <= 1) | (x >= 4)), (std::vector{true, false, false, true}));
  EXPECT_EQ(read<bool>(~equal(x, 2)), (std::vector{true, false, true, true}));
  EXPECT_EQ(read<bool>(logical_xor(x > 2, x > 3)), (std::vector{false, false, true, false}));
  EXPECT_EQ(read<bool>(2.5 < x), (std::vector{false, false, true, true}));
}

TEST(Operators, KeepTheLineTheyStandIn) {
  const Tensor a = ones({2});
  const Tensor b = ones({3});
  const auto line_of = [](auto&& call) {
    try {
      call();
    } catch (const ShapeError& e) {
      return e.site().line();
    }
    return std::uint32_t{0};
  };
  const std::uint32_t line = __LINE__ + 1;
  EXPECT_EQ(line_of([&] { return a - b; }), line);
  EXPECT_EQ(line_of([&] { return a / b; }), line + 1);
  EXPECT_EQ(line_of([&] { return a % b; }), line + 2);
  EXPECT_EQ(line_of([&] { return a <= b; }), line + 3);
  EXPECT_EQ(line_of([&] { return 1 + a < b; }), line + 4);
}

TEST(Operators, IntegersAreNotDividedInSecret) {
  const Tensor n = constant({7, 8});
  try {
    n / n;
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_NE(e.message().find("Use floor_divide, or cast"), std::string::npos) << e.what();
  }
  EXPECT_EQ(read<float>(n / 2.F), (std::vector{3.5F, 4.F}));
}

TEST(Operators, DTypesThatMakeNoSenseAreRefused) {
  const Tensor flag = constant({true, false});
  const Tensor x = constant({1.F, 2.F});
  EXPECT_THROW(flag - flag, DTypeError);
  EXPECT_THROW(-flag, DTypeError);
  EXPECT_THROW(positive(flag), DTypeError);
  EXPECT_THROW(abs(flag), DTypeError);
  EXPECT_THROW(floor(flag), DTypeError);
  EXPECT_THROW(less(flag, flag), DTypeError);
  EXPECT_THROW(x & x, DTypeError);
  EXPECT_THROW(~x, DTypeError);
  EXPECT_THROW(bitwise_left_shift(flag, flag), DTypeError);
  EXPECT_THROW(logical_and(x, x), DTypeError);
  EXPECT_THROW(logical_xor(x, x), DTypeError);
  EXPECT_THROW(logical_not(x), DTypeError);
  EXPECT_THROW(isnan(flag), DTypeError);
  EXPECT_THROW(signbit(constant({1, 2})), DTypeError);
  EXPECT_THROW(sqrt(constant({1, 2})), DTypeError);
  EXPECT_THROW(gelu(constant({1, 2})), DTypeError);
}

TEST(Operators, WhatLeavesIntegersAloneGivesTheTensorItself) {
  const Tensor n = constant({3, -4});
  for (const Tensor& same : {floor(n), ceil(n), trunc(n), round(n), positive(n), clip(n, {}, {})})
    EXPECT_EQ(same.impl().address(), n.impl().address());
  const Tensor byte = ones({2}, DType::u8);
  EXPECT_EQ(abs(byte).impl().address(), byte.impl().address());
  EXPECT_EQ(item<std::int64_t>(floor(5)), 5);
  EXPECT_EQ(item<std::int64_t>(positive(5)), 5);
}

TEST(Operators, ClipTakesNumbersTensorsOrNothingAsBounds) {
  const Tensor x = constant({-3.F, 0.5F, 9.F});
  EXPECT_EQ(read<float>(clip(x, 0, 1)), (std::vector{0.F, 0.5F, 1.F}));
  EXPECT_EQ(read<float>(clip(x, 0, {})), (std::vector{0.F, 0.5F, 9.F}));
  EXPECT_EQ(read<float>(clip(x, std::nullopt, 1.0)), (std::vector{-3.F, 0.5F, 1.F}));
  EXPECT_EQ(read<float>(clip(x, constant({-1.F, 2.F, 3.F}), 5)), (std::vector{-1.F, 2.F, 5.F}));
}

}  // namespace
}  // namespace tutti
