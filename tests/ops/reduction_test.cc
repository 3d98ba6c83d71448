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

}  // namespace
}  // namespace tutti
