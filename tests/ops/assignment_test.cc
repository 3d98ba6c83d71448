// x += y and its like: x becomes another value, in the memory of the old one where nobody else holds that.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class AssignmentOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  AssignmentOnEachDevice() { simulate_gpus(1); }
};

INSTANTIATE_TEST_SUITE_P(Each, AssignmentOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

const void* memory_of(const Tensor& x) { return x.impl().buffer().get(); }

TEST_P(AssignmentOnEachDevice, ComputesInPlaceWhatNobodyElseHolds) {
  const DeviceScope on(GetParam());
  Tensor x = ones({1000});
  const void* const first = memory_of(x);
  x += 3;
  x -= ones({1000});
  x *= 4.0;
  x /= 8;
  x %= 1;
  (x += 1) *= 2;
  EXPECT_EQ(memory_of(x), first);
  EXPECT_EQ(read<float>(x), std::vector<float>(1000, 3.F));
}

TEST_P(AssignmentOnEachDevice, LeavesAloneWhatSomebodyElseHolds) {
  const DeviceScope on(GetParam());
  Tensor x = ones({4});
  const Tensor same = x;
  const Tensor view = slice(x, 0, {0, 2});
  x += 1;
  EXPECT_EQ(read<float>(same), std::vector<float>(4, 1.F));
  EXPECT_EQ(read<float>(view), std::vector<float>(2, 1.F));
  EXPECT_EQ(read<float>(x), std::vector<float>(4, 2.F));
}

TEST_P(AssignmentOnEachDevice, TakesTheTensorItselfAsTheOtherOperand) {
  const DeviceScope on(GetParam());
  Tensor x = constant({{1.F, 2.F}, {3.F, 4.F}});
  x += x;
  x += transpose(x);
  EXPECT_EQ(read<float>(x), (std::vector{4.F, 10.F, 10.F, 16.F}));
}

// As in x = x + y.
TEST_P(AssignmentOnEachDevice, PromotesAndBroadcastsLikeTheOperator) {
  const DeviceScope on(GetParam());
  Tensor x = constant({1, 2});
  x += 0.5;
  EXPECT_EQ(x.dtype(), DType::f32);
  x *= ones({3, 1});
  EXPECT_EQ(x.shape(), (Shape{3, 2}));
}

TEST_P(AssignmentOnEachDevice, ARefusedOneLeavesTheValueAndNamesTheLine) {
  const DeviceScope on(GetParam());
  Tensor x = ones({2});
  const void* const first = memory_of(x);
  const unsigned line = Site().line() + 2;
  try {
    x += ones({3});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.site().line(), line);
  }
  EXPECT_EQ(memory_of(x), first);
  EXPECT_EQ(read<float>(x), (std::vector{1.F, 1.F}));
  Tensor n = constant({4, 6});
  EXPECT_THROW(n /= n, DTypeError);
  EXPECT_THROW(n /= 2, DTypeError);
  EXPECT_EQ(read<std::int32_t>(n), (std::vector{4, 6}));
}

}  // namespace
}  // namespace tutti
