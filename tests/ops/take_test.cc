// An index out of range is found by the device, without a sync, and spoils the result with its origin.
#include <gtest/gtest.h>

#include <limits>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class TakeOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  TakeOnEachDevice() { simulate_gpus(1); }
};

INSTANTIATE_TEST_SUITE_P(Each, TakeOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

TEST_P(TakeOnEachDevice, AnIndexOutOfRangeSpoilsTheResultWithOpAndSite) {
  const DeviceScope on(GetParam());
  const Tensor x = constant({10.F, 20.F, 30.F});
  for (const std::int64_t bad :
       {std::int64_t{3}, std::int64_t{-4}, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    SCOPED_TRACE(bad);
    const std::uint32_t line = __LINE__ + 1;
    const Tensor taken = take(x, constant({std::int64_t{0}, bad}));
    try {
      read<float>(taken);
      FAIL() << "the value could be read";
    } catch (const KernelFailed& e) {
      EXPECT_EQ(e.site().line(), line);
      EXPECT_STREQ(e.site().file(), __FILE__);
      EXPECT_NE(e.message().find("op take on "), std::string::npos) << e.what();
      EXPECT_NE(e.message().find(std::to_string(bad)), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(read<float>(x), (std::vector{10.F, 20.F, 30.F}));
  clear_errors();
}

TEST_P(TakeOnEachDevice, WhatIsMadeOfASpoiledResultHasTheSameOrigin) {
  const DeviceScope on(GetParam());
  const std::uint32_t line = __LINE__ + 1;
  const Tensor spoiled = take(constant({1.F, 2.F}), constant({7}));
  const Tensor later = sum(exp(spoiled) * 2 + 1);
  for (int i = 0; i < 2; ++i) {
    try {
      item<float>(later);
      FAIL();
    } catch (const KernelFailed& e) {
      EXPECT_EQ(e.site().line(), line);
    }
  }
  EXPECT_EQ(item<float>(sum(constant({1.F, 2.F}))), 3.F);
  clear_errors();
}

TEST_P(TakeOnEachDevice, NothingCanBeTakenFromAnEmptyAxis) {
  const DeviceScope on(GetParam());
  EXPECT_THROW(read<float>(take(zeros({0, 3}), constant({0}))), KernelFailed);
  EXPECT_EQ(take(zeros({0, 3}), zeros({0}, DType::i32)).shape(), (Shape{0, 3}));
  clear_errors();
}

}  // namespace
}  // namespace tutti
