// A tensor that is given away lends its memory to the result, unless somebody else still looks at it.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class ConsumptionOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  ConsumptionOnEachDevice() { simulate_gpus(1); }
};

INSTANTIATE_TEST_SUITE_P(Each, ConsumptionOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

const void* memory_of(const Tensor& x) { return x.impl().buffer().get(); }

TEST_P(ConsumptionOnEachDevice, AGivenAwayTensorIsUpdatedInPlace) {
  const DeviceScope on(GetParam());
  Tensor x = zeros({1000});
  const void* const first = memory_of(x);
  for (int i = 0; i < 10; ++i) x = add(std::move(x), 1);
  EXPECT_EQ(memory_of(x), first);
  x = relu(exp(std::move(x) * 0));
  EXPECT_EQ(memory_of(x), first);
  EXPECT_EQ(read<float>(x), std::vector<float>(1000, 1.F));
}

TEST_P(ConsumptionOnEachDevice, TheSecondArgumentServesAsWellAsTheFirst) {
  const DeviceScope on(GetParam());
  Tensor y = ones({10});
  const void* const second = memory_of(y);
  const Tensor kept = ones({10});
  EXPECT_EQ(memory_of(add(kept, std::move(y))), second);
}

TEST_P(ConsumptionOnEachDevice, WhatSomebodyElseHoldsIsLeftAlone) {
  const DeviceScope on(GetParam());
  Tensor x = ones({10});
  const Tensor same = x;
  const Tensor view = slice(x, 0, {0, 3});
  const Tensor sum_of_both = add(std::move(x), 1);
  EXPECT_EQ(read<float>(same), std::vector<float>(10, 1.F));
  EXPECT_EQ(read<float>(view), std::vector<float>(3, 1.F));
  EXPECT_EQ(read<float>(sum_of_both), std::vector<float>(10, 2.F));
}

TEST_P(ConsumptionOnEachDevice, OneThatDoesNotFitTheResultIsNotReused) {
  const DeviceScope on(GetParam());
  Tensor small = ones({1, 4});
  Tensor large = ones({3, 4});
  EXPECT_EQ(read<float>(add(std::move(small), large)), std::vector<float>(12, 2.F));
  Tensor wide = ones({3, 4});
  EXPECT_EQ(read<float>(sum(add(transpose(std::move(wide)), ones({4, 3})))), std::vector{24.F});
  Tensor integers = ones({5}, DType::i32);
  EXPECT_EQ(read<float>(add(std::move(integers), 0.5)), std::vector<float>(5, 1.5F));
}

TEST_P(ConsumptionOnEachDevice, TheSameTensorTwiceIsNotOverwrittenWhileItIsRead) {
  const DeviceScope on(GetParam());
  Tensor x = full({64}, 3, DType::f32);
  const Tensor y = x;
  EXPECT_EQ(read<float>(multiply(std::move(x), y)), std::vector<float>(64, 9.F));
  EXPECT_EQ(read<float>(y), std::vector<float>(64, 3.F));
}

}  // namespace
}  // namespace tutti
