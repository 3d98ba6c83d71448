// The first NaN names its op, and nobody has waited for it.
#include "tutti/train/first_nonfinite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/on_each_device.h"

namespace tutti {
namespace {

using testing_ops::OnEachDevice;

class FirstNonFinite : public OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(, FirstNonFinite, testing_ops::each_device(), testing_ops::name_of_device);

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_P(FirstNonFinite, NamesTheOpAndTheLine) {
  const Tensor x = constant({3.0F, -1.0F, 2.0F});
  FindNonFinite finder;
  unsigned line = 0;
  {
    const SyncScope none(OnSync::error);
    const FindNonFinite::Watching on(finder);
    const Tensor a = x * 2;
    const Tensor b = exp(a);
    const Tensor c = log(a), d = a + b;
    line = __LINE__ - 1;
    const Tensor e = sqrt(c) + sum(d);
  }
  const SyncCount count;
  const std::optional<NonFinite> found = finder.report();
  EXPECT_EQ(count.demand_syncs(), 1U);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "log");
  EXPECT_EQ(found->site.line(), line);
  EXPECT_EQ(found->call, 2U);
  EXPECT_THAT(to_string(*found), testing::HasSubstr("first_nonfinite_test.cc:" + std::to_string(line) +
                                                    " is the first that is not finite (call 2)"));
}

TEST_P(FirstNonFinite, IsNothingWhereAllIsFinite) {
  FindNonFinite finder;
  EXPECT_FALSE(finder.report()) << "nothing was called";
  {
    const FindNonFinite::Watching on(finder);
    const Tensor x = ones({3}) * std::numeric_limits<float>::max();
    (void)sum(zeros({0, 3}));
    (void)(arange(3) + 1);
    (void)permute_dims(reshape(x, {1, 3}), {1, 0});
  }
  EXPECT_FALSE(finder.report());
}

TEST_P(FirstNonFinite, IsFoundAroundACapturedFunctionAndRefusedInside) {
  const auto step = capture([](const Tensor& x) { return log(x - 1) * 2; });
  (void)step(ones({3}) * 5);
  (void)step(ones({3}) * 6);
  FindNonFinite finder;
  {
    const FindNonFinite::Watching on(finder);
    (void)step(zeros({3}));
  }
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "log");
  const auto inside = capture([&](const Tensor& x) {
    const FindNonFinite::Watching on(finder);
    return log(x);
  });
  try {
    (void)inside(ones({3}));
    FAIL();
  } catch (const InvalidState& refused) {
    EXPECT_THAT(refused.message(), testing::HasSubstr("around the call of the captured function"));
  }
}

TEST_P(FirstNonFinite, IsFoundInAStepOfFit) {
  struct Net {
    Dense layer{2, 1};
    Tensor operator()(const Tensor& x) const { return log(layer(x) - 1e6); }
  };
  const Model model{Net{}};
  model.compile({.optimizer = sgd(0.1), .loss = mse_loss});
  FindNonFinite finder;
  {
    const FindNonFinite::Watching on(finder);
    (void)model.fit(Dataset(std::tuple(ones({4, 2}), ones({4, 1}))).batch(4), {.epochs = 1, .verbose = Verbosity::quiet});
  }
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "log");
}

TEST_P(FirstNonFinite, IsLookedForAnewAfterAReport) {
  FindNonFinite finder;
  const FindNonFinite::Watching on(finder);
  const Tensor x = log(zeros({2}) - 1);
  ASSERT_TRUE(finder.report());
  (void)(ones({2}) + 1);
  EXPECT_FALSE(finder.report());
  (void)sqrt(x);
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "sqrt");
  EXPECT_EQ(found->call, 0U);
}

TEST_P(FirstNonFinite, NamesTheOutputOfSeveral) {
  FindNonFinite finder;
  const FindNonFinite::Watching on(finder);
  (void)slogdet(zeros({2, 2}));
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "slogdet");
  EXPECT_EQ(found->output, 1U) << "the logarithm; the sign is 0";
}

TEST_P(FirstNonFinite, MayPassInfinitiesBy) {
  FindNonFinite finder({.infinities = false});
  const FindNonFinite::Watching on(finder);
  const Tensor masked = where(constant({true, false}), ones({2}), -infinity);
  EXPECT_FALSE(finder.report());
  (void)(masked - masked);
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "subtract");
}

TEST_P(FirstNonFinite, IsFoundInGradientsAtTheLineOfTheOpTheyAreOf) {
  FindNonFinite finder;
  unsigned line = 0;
  const auto loss = [&](const Tensor& x) {
    const Tensor root = sqrt(x);
    line = __LINE__ - 1;
    return sum(root * 2);
  };
  {
    const SyncScope none(OnSync::error);
    const FindNonFinite::Watching on(finder);
    const auto [value, grads] = value_and_grad(loss)(constant({4.0F, 0.0F}));
    (void)(grads + 1);
  }
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->site.line(), line) << to_string(*found);
}

TEST_P(FirstNonFinite, IsFoundInVariables) {
  FindNonFinite finder;
  const Variable weight(full({2}, 3e38, DType::f32));
  const Tensor step = full({2}, 3e38, DType::f32);
  unsigned line = 0;
  {
    const FindNonFinite::Watching on(finder);
    weight.assign_add(step);
    line = __LINE__ - 1;
    (void)(weight.value() * 2);
  }
  const std::optional<NonFinite> found = finder.report();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "Variable::assign_add");
  EXPECT_EQ(found->site.line(), line);
}

TEST_P(FirstNonFinite, CostsNoMemoryPerStep) {
  FindNonFinite finder;
  Tensor x = ones({100});
  const auto steps = [&](int count) {
    const FindNonFinite::Watching on(finder);
    for (int i = 0; i < count; ++i) x = tanh(x * 1.5) + 0.1;
  };
  const auto used = [&] {
    sync_devices();
    return memory_info(GetParam()).in_use;
  };
  steps(10);
  const auto before = used();
  steps(1000);
  EXPECT_EQ(used(), before);
  EXPECT_FALSE(finder.report());
}

TEST(FirstNonFiniteOfSeveralDevices, IsTheFirstByTheOrderOfCalls) {
  simulate_gpus(2);
  FindNonFinite finder;
  const FindNonFinite::Watching on(finder);
  const auto spoil = [](const char* device, auto&& function) {
    const DeviceScope there(device);
    (void)function(zeros({2}) - 1);
  };
  spoil("GPU:1", [](const Tensor& x) { return log(x); });
  spoil("GPU:0", [](const Tensor& x) { return sqrt(x); });
  spoil("CPU:0", [](const Tensor& x) { return x / 0; });
  const SyncCount count;
  const std::optional<NonFinite> found = finder.report();
  EXPECT_EQ(count.demand_syncs(), 1U);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "log");
}

}  // namespace
}  // namespace tutti
