// Variables inside captured functions: updated in place, snapshots stay, eager code sees what replays wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CapturedVariables : public OnBackend {};

TEST_P(CapturedVariables, AreUpdatedByEveryReplay) {
  const Variable plain(some(1));
  const Variable captured(some(1));
  const auto function = [](const Variable& variable, const Tensor& x) {
    variable.assign_add(x);
    const Tensor between = variable * 2;
    variable.assign(variable - x * 0.25);
    return between + variable;
  };
  const auto step = capture([&](const Tensor& x) { return function(captured, x); });
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(numbers(step(some(i))), numbers(function(plain, some(i))));
    EXPECT_EQ(numbers(captured.value()), numbers(plain.value()));
  }
}

TEST_P(CapturedVariables, MayBeArguments) {
  const Variable first(some(1));
  const Variable second(some(2));
  int runs = 0;
  const auto step = capture([&](const Variable& variable, const Tensor& x) {
    ++runs;
    variable.assign_add(x);
  });
  for (int i = 0; i < 3; ++i) {
    step(first, some(3));
    step(second, some(4));
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(numbers(first.value()), numbers(some(1) + some(3) + some(3) + some(3)));
  EXPECT_EQ(numbers(second.value()), numbers(some(2) + some(4) + some(4) + some(4)));
}

TEST_P(CapturedVariables, SnapshotsStayAsTheyWere) {
  const Variable variable(some(1));
  const Tensor before = variable.value();
  const auto step = capture([&](const Tensor& x) { variable.assign(x); });
  std::vector<Tensor> snapshots;
  for (std::uint64_t i = 0; i < 4; ++i) {
    step(some(i + 10));
    snapshots.push_back(variable.value());
  }
  EXPECT_EQ(numbers(before), numbers(some(1)));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(numbers(snapshots[i]), numbers(some(i + 10)));
}

TEST_P(CapturedVariables, ASnapshotThatIsGivenBackIsNotOverwritten) {
  const Variable variable(some(1));
  const auto step = capture([&](const Tensor& x) {
    const Tensor before = variable.value();
    variable.assign(x);
    return before;
  });
  std::vector<Tensor> given;
  for (std::uint64_t i = 0; i < 4; ++i) given.push_back(step(some(i + 10)));
  EXPECT_EQ(numbers(given[0]), numbers(some(1)));
  for (std::uint64_t i = 1; i < 4; ++i) EXPECT_EQ(numbers(given[i]), numbers(some(i + 9)));
}

TEST_P(CapturedVariables, EagerCodeAndReplaysTakeTurns) {
  const Variable variable(some(1));
  const auto step = capture([&](const Tensor& x) { variable.assign_add(x); });
  Tensor wanted = some(1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    step(some(i));
    wanted = wanted + some(i);
    variable.assign(variable * 0.5);
    wanted = wanted * 0.5;
  }
  EXPECT_EQ(numbers(variable.value()), numbers(wanted));
}

TEST_P(CapturedVariables, TwoGraphsShareOne) {
  const Variable variable(some(1));
  const auto grow = capture([&](const Tensor& x) { variable.assign_add(x); });
  const auto look = capture([&](const Tensor& x) { return variable + x; });
  Tensor wanted = some(1);
  for (std::uint64_t i = 0; i < 4; ++i) {
    grow(some(i));
    wanted = wanted + some(i);
    EXPECT_EQ(numbers(look(some(7))), numbers(wanted + some(7)));
  }
}

TEST_P(CapturedVariables, OneMadeByTheFirstCallIsRecordedByTheSecond) {
  std::optional<Variable> made;
  int runs = 0;
  const auto step = capture([&](const Tensor& x) {
    ++runs;
    if (!made) made.emplace(zeros_like(x));
    made->assign_add(x);
  });
  for (int i = 0; i < 4; ++i) step(some(1));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(numbers(made->value()), numbers(some(1) + some(1) + some(1) + some(1)));
}

TEST_P(CapturedVariables, AFunctionThatMakesAnotherInEveryCallIsToldOnceThatItIsNeverRecorded) {
  std::mutex mutex;
  std::vector<std::string> told;
  set_log_sink([&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    told.emplace_back(line);
  });
  std::vector<Variable> made;
  const Site line;
  const Site captured;
  const auto step = capture([&](const Tensor& x) { made.emplace_back(x * 2, line); }, {}, captured);
  step(some(1));
  EXPECT_THAT(told, IsEmpty()) << "a first call may make variables";
  for (std::uint64_t i = 2; i < 5; ++i) step(some(i));
  set_log_sink({});
  ASSERT_THAT(told, ElementsAre(HasSubstr(captured.to_string())));
  EXPECT_THAT(told[0], HasSubstr("the variable made at " + line.to_string()));
  for (std::uint64_t i = 1; i < 5; ++i) EXPECT_EQ(numbers(made[i - 1]), numbers(some(i) * 2));
}

TEST_P(CapturedVariables, OneOfTheFunctionsOwnBeginsAnew) {
  const auto step = capture([&](const Tensor& x) {
    const Variable own(x * 2);
    own.assign_add(x);
    return own.value();
  });
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(numbers(step(some(i))), numbers(some(i) * 2 + some(i)));
}

TEST_P(CapturedVariables, AWholeTrainingStepIsCaptured) {
  const auto train = [&](bool is_captured) {
    const Variable w1(some(1, {6, 8}) - 0.5);
    const Variable w2(some(2, {8, 3}) - 0.5);
    Adam optimizer({w1, w2}, 0.05);
    const auto loss = [](const Variable& a, const Variable& b, const Tensor& x, const Tensor& y) {
      return mean(square(matmul(tanh(matmul(x, a)), b) - y));
    };
    const auto plain = [&](const Tensor& x, const Tensor& y) {
      auto [value, grads] = value_and_grad<0, 1>(loss)(w1, w2, x, y);
      optimizer.update({std::get<0>(grads), std::get<1>(grads)});
      return value;
    };
    const auto step = capture(plain);
    std::vector<float> losses;
    for (std::uint64_t i = 0; i < 6; ++i) {
      const Tensor x = some(2 * i + 10);
      const Tensor y = some(2 * i + 11, {4, 3});
      losses.push_back(item<float>(is_captured ? step(x, y) : plain(x, y)));
    }
    for (const float each : numbers(w1)) losses.push_back(each);
    return losses;
  };
  const std::vector<float> captured = train(true);
  const std::vector<float> eager = train(false);
  if (GetParam().backend != "cuda") {
    EXPECT_EQ(captured, eager);
    return;
  }
  // From the first replay on, products are made by the algorithm that was the fastest.
  ASSERT_EQ(captured.size(), eager.size());
  for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_NEAR(captured[i], eager[i], 1e-5 * (1 + std::abs(eager[i]))) << i;
}

TUTTI_ON_EVERY_BACKEND(CapturedVariables);

}  // namespace
}  // namespace tutti::conformance
