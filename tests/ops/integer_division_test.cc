// Integers divided by zero or raised to a negative power are found by the device and spoil the result with its origin.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class IntegerDivision : public testing::TestWithParam<const char*> {
 protected:
  IntegerDivision() {
    if (list_physical_devices("GPU").empty()) simulate_gpus(1);
  }
};

INSTANTIATE_TEST_SUITE_P(Each, IntegerDivision, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

void expect_fault(const Tensor& spoiled, std::uint32_t line, const char* op, const char* words) {
  try {
    read<std::int32_t>(spoiled);
    FAIL() << "the value could be read";
  } catch (const KernelFailed& e) {
    EXPECT_EQ(e.site().line(), line);
    EXPECT_STREQ(e.site().file(), __FILE__);
    EXPECT_NE(e.message().find(std::string("op ") + op + " on "), std::string::npos) << e.what();
    EXPECT_NE(e.message().find(words), std::string::npos) << e.what();
  }
  clear_errors();
}

TEST_P(IntegerDivision, ByZeroSpoilsTheResultWithOpAndSite) {
  const DeviceScope on(GetParam());
  const Tensor a = constant({7, -7, 1});
  const Tensor b = constant({2, 0, 1});
  std::uint32_t line = __LINE__ + 1;
  expect_fault(floor_divide(a, b), line, "floor_divide", "integer division by zero");
  line = __LINE__ + 1;
  expect_fault(a % 0, line, "remainder", "integer division by zero");
  line = __LINE__ + 1;
  expect_fault(pow(a, constant({1, 2, -1})), line, "pow", "an integer to a negative power");
  EXPECT_EQ(read<std::int32_t>(a), (std::vector{7, -7, 1}));
}

TEST_P(IntegerDivision, ByZeroIsFoundAmongManyElements) {
  const DeviceScope on(GetParam());
  std::vector<std::int32_t> divisors(280'000, 3);
  EXPECT_EQ(read<std::int32_t>(floor_divide(7, constant(divisors, {280'000}))), std::vector<std::int32_t>(280'000, 2));
  divisors.back() = 0;
  EXPECT_THROW(read<std::int32_t>(floor_divide(7, constant(divisors, {280'000}))), KernelFailed);
  clear_errors();
}

TEST_P(IntegerDivision, OfNothingByZeroIsFine) {
  const DeviceScope on(GetParam());
  EXPECT_EQ(read<std::int32_t>(floor_divide(ones({0}, DType::i32), 0)).size(), 0U);
}

TEST_P(IntegerDivision, RoundsDownAndTheRemainderFollowsTheDivisor) {
  const DeviceScope on(GetParam());
  const Tensor a = constant({7, -7, 7, -7});
  const Tensor b = constant({2, 2, -2, -2});
  EXPECT_EQ(read<std::int32_t>(floor_divide(a, b)), (std::vector{3, -4, -4, 3}));
  EXPECT_EQ(read<std::int32_t>(a % b), (std::vector{1, 1, -1, -1}));
  EXPECT_EQ(read<std::int32_t>(pow(a, 3)), (std::vector{343, -343, 343, -343}));
}

}  // namespace
}  // namespace tutti
