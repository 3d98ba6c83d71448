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

TEST_P(ConsumptionOnEachDevice, ACallThatFailsLosesNothing) {
  const DeviceScope on(GetParam());
  constexpr std::int64_t many = 1 << 20;
  const Tensor mask = ones({many}, DType::boolean);
  const Tensor places = zeros({1}, DType::i64);
  Tensor x = ones({many});
  const Tensor same = x;  // so that no result fits into its memory
  set_memory_limit(GetParam(), memory_info(GetParam()).in_use + KiB(64));
  const auto survives = [&](const char* what, auto&& call) {
    EXPECT_THROW(x = call(), OutOfMemory) << what;
    ASSERT_TRUE(x.is_defined()) << what;
    EXPECT_EQ(memory_of(x), memory_of(same)) << what;
  };
  survives("add", [&] { return add(std::move(x), 1); });
  survives("add, second", [&] { return add(1, std::move(x)); });
  survives("operator", [&] { return std::move(x) * 2; });
  survives("relu", [&] { return relu(std::move(x)); });
  survives("pow", [&] { return pow(std::move(x), 2); });
  survives("clip", [&] { return clip(std::move(x), 0, 1); });
  survives("promotion", [&] { return add(std::move(x), constant(1.0)); });
  survives("where", [&] { return where(mask, std::move(x), 1); });
  survives("isnan", [&] { return isnan(std::move(x)); });
  survives("scatter", [&] { return scatter(std::move(x), 0, places, 2); });
  survives("at", [&] { return at(std::move(x), {0}).set(2); });
  survives("at a mask", [&] { return at(std::move(x), {mask}).set(2); });
  survives("at a mask, added", [&] { return at(std::move(x), {mask}).add(2); });
  survives("the values", [&] { return at(same, {Range{}}).set(std::move(x)); });
  survives("the values at a mask", [&] { return at(same, {mask}).add(std::move(x)); });
  set_memory_limit(GetParam(), 0);
  x = add(std::move(x), 1);
  EXPECT_EQ(item<float>(sum(x)), 2.F * many);
}

TEST_P(ConsumptionOnEachDevice, OneTensorGivenAwayTwiceIsReadBothTimes) {
  const DeviceScope on(GetParam());
  Tensor x = full({3}, 2, DType::f32);
  EXPECT_EQ(read<float>(add(std::move(x), std::move(x))), std::vector<float>(3, 4.F));
  EXPECT_FALSE(x.is_defined());
  Tensor y = constant({1.F, 2.F, 3.F});
  const Tensor reversed = scatter(std::move(y), 0, constant({2, 1, 0}), std::move(y));
  EXPECT_EQ(read<float>(reversed), (std::vector{3.F, 2.F, 1.F}));
}

}  // namespace
}  // namespace tutti
