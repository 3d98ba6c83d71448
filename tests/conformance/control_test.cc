// cond and while_loop decide on the device: no sync, whatever the predicate turns out to be.
#include "conformance/backend.h"

namespace tutti::conformance {

namespace {

class Control : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(Control);

std::vector<Tensor> doubled(const std::vector<Tensor>& s) { return {s[0] * 2, s[1] + 1}; }

}  // namespace

TEST_P(Control, CondPicksByAPredicateThatTheHostNeverSees) {
  const Tensor x = arange(4.F);
  Tensor high;
  Tensor low;
  {
    const SyncScope strict(OnSync::error);
    const auto step = [&](const Tensor& limit) {
      return cond(
          sum(x) > limit, [&] { return x * 10; }, [&] { return x - 1; });
    };
    high = step(constant(100.F));
    low = step(constant(1.F));
  }
  EXPECT_EQ(read<float>(high), (std::vector<float>{-1, 0, 1, 2}));
  EXPECT_EQ(read<float>(low), (std::vector<float>{0, 10, 20, 30}));
}

TEST_P(Control, CondTakesAPredicateFromAnotherDevice) {
  Tensor predicate;
  {
    const DeviceScope other(device(1));
    predicate = ones({}) > 0;
  }
  const SyncScope strict(OnSync::error);
  const Tensor picked = cond(
      predicate, [] { return ones({2}); }, [] { return zeros({2}); });
  const AllowSync meant("the result");
  EXPECT_EQ(read<float>(picked), (std::vector<float>{1, 1}));
}

TEST_P(Control, WhileLoopRunsUntilTheConditionFailsAndSaysHowOften) {
  WhileResult result;
  {
    const SyncScope strict(OnSync::error);
    result = while_loop([](const auto& s) { return s[0] < 100; }, doubled, {constant(3.F) * 1, constant(0) * 1});
  }
  EXPECT_EQ(item<float>(result.state[0]), 192);
  EXPECT_EQ(item<int>(result.state[1]), 6);
  EXPECT_EQ(item<std::int64_t>(result.iterations), 6);
  EXPECT_TRUE(item<bool>(result.is_finished));
}

TEST_P(Control, WhileLoopStopsAtTheMostIterationsAndSaysThatItIsNotFinished) {
  const WhileResult result =
      while_loop([](const auto& s) { return s[0] < 100; }, doubled, {constant(3.F) * 1, constant(0) * 1}, {.most_iterations = 2});
  EXPECT_EQ(item<float>(result.state[0]), 12);
  EXPECT_EQ(item<std::int64_t>(result.iterations), 2);
  EXPECT_FALSE(item<bool>(result.is_finished));
}

TEST_P(Control, WhileLoopWhoseConditionNeverHoldsLeavesTheStateAlone) {
  const WhileResult result = while_loop([](const auto& s) { return s[0] < 0; }, doubled, {constant(3.F) * 1, constant(0) * 1});
  EXPECT_EQ(item<float>(result.state[0]), 3);
  EXPECT_EQ(item<std::int64_t>(result.iterations), 0);
  EXPECT_TRUE(item<bool>(result.is_finished));
}

TEST_P(Control, TheStateOfAWhileLoopEndsOnTheDeviceOfTheLoopHoweverSoonTheHostLearnsThatItIsOver) {
  Tensor x;
  {
    const DeviceScope other(device(1));
    x = transpose(ones({2, 3}) * 2);
  }
  const DeviceScope on(device(0));
  const auto halved = [](const std::vector<Tensor>& s) { return std::vector{transpose(reshape(s[0] * 0.5, {2, 3}))}; };
  for (const float limit : {9.F, 1.F}) {  // it is over at once, or after one iteration
    sync_devices();
    const WhileResult result = while_loop([&](const auto& s) { return max(s[0]) > limit; }, halved, {x});
    EXPECT_EQ(result.state[0].device(), (ones({}) * 1).device());
    EXPECT_TRUE(result.state[0].is_contiguous());
  }
}

TEST_P(Control, MistakesAreReportedAtTheCall) {
  const Tensor x = ones({2});
  EXPECT_THROW(cond(
                   x > 0, [&] { return x; }, [&] { return x; }),
               InvalidArgument)
      << "two elements";
  EXPECT_THROW(cond(
                   sum(x), [&] { return x; }, [&] { return x; }),
               InvalidArgument)
      << "not a bool";
  EXPECT_THROW(cond(
                   sum(x) > 0, [&] { return x; }, [&] { return sum(x); }),
               InvalidArgument)
      << "other shapes";
  EXPECT_THROW(while_loop([](const auto& s) { return sum(s[0]) < 9; },
                          [](const auto& s) {
                            return std::vector{s[0], s[0]};
                          },
                          {x}),
               InvalidArgument)
      << "more state than before";
  EXPECT_THROW(
      while_loop([](const auto& s) { return sum(s[0]) < 9; }, [](const auto& s) { return s; }, {x}, {.most_iterations = -1}),
      InvalidArgument);
}

}  // namespace tutti::conformance
