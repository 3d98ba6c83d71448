// isclose and allclose: NumPy's tolerance, decided on the device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tutti/tutti.h"

namespace tutti {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan = std::nanf("");

TEST(Closeness, IsRelativeToTheSecondAndAbsolute) {
  const Tensor b = constant({100.F, 100.F, 0.F, 0.F});
  EXPECT_EQ(read<bool>(isclose(constant({100.0005F, 100.01F, 1e-9F, 1e-7F}), b)), (std::vector{true, false, true, false}));
  EXPECT_EQ(read<bool>(isclose(constant({101.F, 102.F, 0.F, 0.5F}), b, {.rtol = 0.01, .atol = 0.5})),
            (std::vector{true, false, true, true}));
}

TEST(Closeness, InfinitiesEqualThemselvesOnlyAndNaNsWhereAsked) {
  const Tensor a = constant({infinity, -infinity, infinity, 1.F, nan, nan});
  const Tensor b = constant({infinity, infinity, 1.F, infinity, nan, 1.F});
  EXPECT_EQ(read<bool>(isclose(a, b)), (std::vector{true, false, false, false, false, false}));
  EXPECT_EQ(read<bool>(isclose(a, b, {.equal_nan = true})), (std::vector{true, false, false, false, true, false}));
}

TEST(Closeness, TakesEveryDTypeNumbersAndShapesThatBroadcast) {
  EXPECT_TRUE(item<bool>(allclose(ones({2, 3}), 1)));
  EXPECT_TRUE(item<bool>(allclose(constant({3, 4}), constant({3.F, 4.F}))));
  EXPECT_FALSE(item<bool>(allclose(constant({3, 4}), constant({3, 5}))));
  EXPECT_TRUE(item<bool>(allclose(constant({true, false}), constant({true, false}))));
  EXPECT_TRUE(item<bool>(allclose(ones({0}), ones({0}))));
  // In half precision atol would be 0.
  EXPECT_TRUE(item<bool>(allclose(full({2}, 1e-7, DType::f16), zeros({2}, DType::f16), {.atol = 1e-6})));
  EXPECT_EQ(allclose(ones({2, 3}), ones({3})).shape(), Shape{});
}

TEST(Closeness, ANumberDoesNotDecideWhereItIsComputed) {
  simulate_gpus(2);
  const Tensor x = copy_to(ones({4}), "GPU:1");
  const std::string without = abs(x).device();
  EXPECT_EQ(allclose(x, 1).device(), without);
  EXPECT_EQ(allclose(1.5, x).device(), without);
}

TEST(Closeness, TheHostWaitsOnlyForTheAnswerItReads) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor a = uniform({100});
  Tensor close;
  {
    const SyncScope forbidden(OnSync::error);
    close = allclose(a, a + 1e-9);
  }
  EXPECT_EQ(close.dtype(), DType::boolean);
  EXPECT_TRUE(item<bool>(close));
}

}  // namespace
}  // namespace tutti
