// What reductions refuse, what they make of nothing, and how exact they are.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class ReductionOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  ReductionOnEachDevice() {
    if (list_physical_devices("GPU").empty()) simulate_gpus(1);
  }
};

INSTANTIATE_TEST_SUITE_P(Each, ReductionOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

TEST_P(ReductionOnEachDevice, NothingHasNoLargestElement) {
  const DeviceScope on(GetParam());
  const Tensor x = zeros({3, 0});
  EXPECT_THROW(max(x), InvalidArgument);
  EXPECT_THROW(min(x, {1}), InvalidArgument);
  EXPECT_THROW(argmax(x), InvalidArgument);
  EXPECT_THROW(argmin(x, 1), InvalidArgument);
  EXPECT_THROW(vector_norm(x, all_axes, {.ord = std::numeric_limits<double>::infinity()}), InvalidArgument);
  EXPECT_EQ(max(x, {0}).shape(), Shape{0});  // no result, so nothing is missing
  EXPECT_EQ(argmax(x, 0).shape(), Shape{0});
}

TEST_P(ReductionOnEachDevice, NothingIsTheNeutralElementOfTheRest) {
  const DeviceScope on(GetParam());
  const Tensor x = zeros({2, 0});
  EXPECT_EQ(read<float>(sum(x, {1})), (std::vector{0.F, 0.F}));
  EXPECT_EQ(read<float>(prod(x, {1})), (std::vector{1.F, 1.F}));
  EXPECT_TRUE(item<bool>(all(x)));
  EXPECT_FALSE(item<bool>(any(x)));
  EXPECT_TRUE(std::isnan(item<float>(mean(x))));
  EXPECT_TRUE(std::isnan(item<float>(var(x))));
  EXPECT_TRUE(std::isnan(item<float>(std(x))));
  EXPECT_EQ(item<float>(logsumexp(x)), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(item<float>(vector_norm(x)), 0.F);
  EXPECT_EQ(read<std::int64_t>(count_nonzero(x, {1})), (std::vector<std::int64_t>{0, 0}));
}

TEST_P(ReductionOnEachDevice, AxesAreCheckedAtTheCall) {
  const DeviceScope on(GetParam());
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(prod(x, {2}), ShapeError);
  EXPECT_THROW(max(x, {0, -2}), ShapeError);
  EXPECT_THROW(argmax(x, -3), ShapeError);
  EXPECT_THROW(argmax(constant(1.F), 0), ShapeError);
  EXPECT_EQ(item<std::int64_t>(argmax(constant(1.F))), 0);
}

TEST_P(ReductionOnEachDevice, MeansAreForFloats) {
  const DeviceScope on(GetParam());
  const Tensor x = constant({1, 2, 3});
  EXPECT_THROW(mean(x), DTypeError);
  EXPECT_THROW(var(x), DTypeError);
  EXPECT_THROW(std(x), DTypeError);
  EXPECT_THROW(logsumexp(x), DTypeError);
  EXPECT_THROW(vector_norm(x), DTypeError);
  EXPECT_THROW(vector_norm(x, all_axes, {.ord = 0}), DTypeError);
  EXPECT_THROW(sum(x, all_axes, {.dtype = DType::boolean}), DTypeError);
  EXPECT_THROW(vector_norm(constant({1.F}), all_axes, {.ord = std::nan("")}), InvalidArgument);
}

TEST_P(ReductionOnEachDevice, ASampleOfOneHasNoVariance) {
  const DeviceScope on(GetParam());
  EXPECT_TRUE(std::isnan(item<float>(var(constant({3.F}), all_axes, {.correction = 1}))));
  EXPECT_EQ(item<float>(var(constant({3.F}))), 0.F);
}

// The squares of such elements say nothing about their distance from the mean.
TEST_P(ReductionOnEachDevice, AVarianceFarFromZeroIsExact) {
  const DeviceScope on(GetParam());
  const std::int64_t n = 100'000;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e6F + static_cast<float>(i % 4);
  EXPECT_NEAR(item<float>(var(constant(values, {n}))), 1.25F, 1e-4F);
  EXPECT_NEAR(item<float>(std(constant(values, {n / 4, 4}))), std::sqrt(1.25F), 1e-4F);
  for (const float found : read<float>(var(constant(values, {4, n / 4}), {1}))) EXPECT_NEAR(found, 1.25F, 1e-4F);
  for (const float found : read<float>(var(constant(values, {n / 5, 5}), {0}))) EXPECT_NEAR(found, 1.25F, 1e-4F);
}

TEST_P(ReductionOnEachDevice, LogSumExpDoesNotOverflow) {
  const DeviceScope on(GetParam());
  EXPECT_NEAR(item<float>(logsumexp(constant({1000.F, 1000.F}))), 1000.F + std::log(2.F), 1e-4F);
  EXPECT_NEAR(item<float>(logsumexp(constant({-1000.F, -1000.F, -2000.F}))), -1000.F + std::log(2.F), 1e-4F);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(item<float>(logsumexp(constant({-infinity, -infinity}))), -infinity);
  EXPECT_EQ(item<float>(logsumexp(constant({infinity, 1.F, -infinity}))), infinity);
  EXPECT_TRUE(std::isnan(item<float>(logsumexp(constant({std::nanf(""), infinity})))));
}

// Elements that are one in memory are multiplied where there are many.
TEST_P(ReductionOnEachDevice, InfinitiesAndNaNThatRepeatThemselvesStayWhatTheyAre) {
  const DeviceScope on(GetParam());
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor column = constant({infinity, -infinity, std::nanf(""), 2.F, -0.F, 3e38F});
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Tensor x = broadcast_to(reshape(cast(column, dtype), {6, 1}), {6, 100'000});
    const std::vector<double> sums = read<double>(cast(sum(x, {1}), DType::f64));
    EXPECT_EQ(sums[0], infinity);
    EXPECT_EQ(sums[1], -infinity);
    EXPECT_TRUE(std::isnan(sums[2]));
    EXPECT_NEAR(sums[3], 200'000, dtype == DType::bf16 ? 512 : 0);  // bf16 has steps of 1024 there
    EXPECT_EQ(sums[4], 0);
    EXPECT_EQ(std::isinf(sums[5]), dtype != DType::f64);
    EXPECT_TRUE(std::isnan(item<double>(cast(sum(x), DType::f64))));
  }
}

// Those of f32 end at 2^24; a count of halves is not rounded to them.
TEST_P(ReductionOnEachDevice, CountsOfElementsThatRepeatThemselvesAreExact) {
  const DeviceScope on(GetParam());
  const std::int64_t many = (std::int64_t{1} << 24U) + 3;
  for (const DType dtype : {DType::boolean, DType::u8, DType::f16, DType::f32}) {
    const Tensor x = broadcast_to(cast(constant({{1}, {0}, {1}}), dtype), {3, many});
    EXPECT_EQ(item<std::int64_t>(count_nonzero(x)), 2 * many);
    EXPECT_EQ(read<std::int64_t>(count_nonzero(x, {1})), (std::vector<std::int64_t>{many, 0, many}));
    if (is_floating(dtype)) continue;
    EXPECT_EQ(item<std::int64_t>(sum(x)), 2 * many);
  }
}

TEST_P(ReductionOnEachDevice, SumsOfIntegersThatRepeatThemselvesWrap) {
  const DeviceScope on(GetParam());
  const std::int64_t large = std::numeric_limits<std::int64_t>::max() / 1000;
  const Tensor x = broadcast_to(reshape(constant({large, -large}), {2, 1}), {2, 300'000});
  const auto wrapped = static_cast<std::int64_t>(static_cast<std::uint64_t>(large) * 300'000U);
  EXPECT_EQ(read<std::int64_t>(sum(x, {1})), (std::vector<std::int64_t>{wrapped, -wrapped}));
}

TEST_P(ReductionOnEachDevice, ProductsOfElementsThatRepeatThemselvesCountEachOfThem) {
  const DeviceScope on(GetParam());
  const std::int64_t many = 4097;
  const Tensor column = reshape(constant({1.001F, -1.F, 0.F, 2.F, -0.F, std::nanf("")}), {6, 1});
  const std::vector<float> products = read<float>(prod(broadcast_to(column, {6, many}), {1}));
  EXPECT_NEAR(products[0] / std::pow(static_cast<double>(1.001F), many), 1, static_cast<double>(many) * 0x1p-24);
  EXPECT_EQ(products[1], -1);
  EXPECT_EQ(products[2], 0);
  EXPECT_TRUE(std::isinf(products[3]));
  EXPECT_TRUE(products[4] == 0 && std::signbit(products[4]));
  EXPECT_TRUE(std::isnan(products[5]));
  std::uint64_t wrapped = 1;
  for (std::int64_t i = 0; i < many; ++i) wrapped *= 15;
  const Tensor pair = reshape(constant({std::int64_t{3}, std::int64_t{5}}), {2, 1});
  EXPECT_EQ(item<std::int64_t>(prod(broadcast_to(pair, {2, many}))), static_cast<std::int64_t>(wrapped));
}

// Several elements are the largest: the first in row order counts, however they lie in memory.
TEST_P(ReductionOnEachDevice, ThePlaceAmongTransposedElementsIsThatInRowOrder) {
  const DeviceScope on(GetParam());
  const Tensor x = remainder(reshape(arange(std::int64_t{31} * 67 * 5), {31, 67, 5}), 97);
  for (const Dims& order : {Dims{2, 1, 0}, Dims{1, 0, 2}, Dims{0, 2, 1}, Dims{2, 0, 1}}) {
    const Tensor transposed = permute_dims(x, order);
    EXPECT_EQ(item<std::int64_t>(argmax(transposed)), item<std::int64_t>(argmax(contiguous(transposed))));
    EXPECT_EQ(item<std::int64_t>(argmin(transposed)), item<std::int64_t>(argmin(contiguous(transposed))));
  }
}

// Columns that are taken several at a time, and those that cannot be.
TEST_P(ReductionOnEachDevice, TruthsOfManyColumnsAreEachTheirOwn) {
  const DeviceScope on(GetParam());
  for (const std::int64_t columns : {64, 1040, 1042, 1037}) {
    const Tensor x = equal(remainder(reshape(arange(301 * columns), {301, columns}), 7919), 11);
    for (const DType dtype : {DType::boolean, DType::f16, DType::i32}) {
      const Tensor numbers = cast(x, dtype);
      const Tensor counts = count_nonzero(x, {0});
      EXPECT_EQ(read<bool>(any(numbers, {0})), read<bool>(less(0, counts)));
      EXPECT_EQ(read<bool>(all(equal(numbers, 0), {0})), read<bool>(equal(counts, 0)));
    }
  }
}

}  // namespace
}  // namespace tutti
