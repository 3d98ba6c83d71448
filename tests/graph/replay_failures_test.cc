// A failure inside a replay spoils what depends on it and nothing else, and is blamed on its op, its line and its replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "conformance/backend.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

using testing::HasSubstr;

class ReplayFailures : public OnBackend {
 protected:
  void TearDown() override { clear_faults(); }
};

std::string failure_of(const Tensor& x) {
  try {
    (void)read<float>(x);
  } catch (const AsyncError& e) {
    return e.what();
  }
  return "is well";
}

// What is told of a failure in a replay, by what is told of it where the function runs by itself: op, device and line are the
// same.
std::string in_replay(int number, Site captured, std::string told) {
  const std::size_t at = told.find(" (op ");
  if (at == std::string::npos) return "of no op: " + told;
  return told.insert(at, ", in replay " + std::to_string(number) + " of the function captured at " + captured.to_string());
}

TEST_P(ReplayFailures, ABadIndexIsBlamedOnItsOpItsLineAndItsReplay) {
  const Site line;
  const Site captured;
  const auto function = [&](const Tensor& x, const Tensor& index) {
    return std::vector{index_select(x, 0, index, line) * 2, x + 1};
  };
  const auto step = capture(function, {}, captured);
  const Tensor good = constant({0, 3});
  const Tensor bad = constant({0, 9});
  (void)step(some(1, {4}), good);
  EXPECT_EQ(failure_of(step(some(1, {4}), good)[0]), "is well");
  const std::vector<Tensor> results = step(some(1, {4}), bad);
  const std::string told = failure_of(results[0]);
  EXPECT_THAT(told, HasSubstr("index 9"));
  EXPECT_THAT(told, HasSubstr("[at " + line.to_string() + "]"));
  EXPECT_EQ(told, in_replay(2, captured, failure_of(function(some(1, {4}), bad)[0])));
  EXPECT_EQ(read<float>(results[1]), read<float>(some(1, {4}) + 1));
  EXPECT_EQ(failure_of(step(some(1, {4}), good)[0]), "is well");
  clear_errors();
}

TEST_P(ReplayFailures, AnArgumentThatFailedSpoilsWhatDependsOnIt) {
  const auto step = capture([](const Tensor& x, const Tensor& y) { return std::vector{x * 2, y * 2}; });
  (void)step(some(1, {4}), some(2, {4}));
  const Tensor failed = take(some(1, {4}), constant({0, 1, 2, 9}), 0);
  const std::vector<Tensor> results = step(failed, some(2, {4}));
  EXPECT_THAT(failure_of(results[0]), HasSubstr("index 9"));
  EXPECT_EQ(read<float>(results[1]), read<float>(some(2, {4}) * 2));
  EXPECT_EQ(read<float>(step(some(3, {4}), some(2, {4}))[0]), read<float>(some(3, {4}) * 2));
  clear_errors();
}

TEST_P(ReplayFailures, AFaultInAnyKernelOfAReplayIsTold) {
  if (GetParam().backend != "sim") GTEST_SKIP() << "faults are injected into simulated GPUs";
  struct Blamed {
    const char* op;
    Site line;
  };
  const Site of_multiply;
  const Site of_tanh;
  const Site of_add;
  const Site of_exp;
  const std::vector<Blamed> ops{{"Mul", of_multiply}, {"Tanh", of_tanh}, {"AddV2", of_add}, {"Exp", of_exp}};
  const auto function = [&](const Tensor& x) { return exp(add(tanh(multiply(x, 2, of_multiply), of_tanh), 1, of_add), of_exp); };
  const Site captured;
  const auto step = capture(function, {}, captured);
  (void)step(some(1, {4}));
  int replays = 0;
  for (const Blamed& each : ops) {
    const auto told_by = [&](const auto& run) {
      sync_devices();
      inject_fault({.kind = FaultKind::kernel, .op = each.op});
      const std::string told = failure_of(run(some(1, {4})));
      clear_errors();
      return told;
    };
    const std::string told = told_by(step);
    EXPECT_THAT(told, HasSubstr("injected kernel failure, in replay "));
    EXPECT_THAT(told, HasSubstr("[at " + each.line.to_string() + "]"));
    EXPECT_EQ(told, in_replay(++replays, captured, told_by(function)));
    EXPECT_EQ(read<float>(step(some(1, {4}))), read<float>(function(some(1, {4}))));
    ++replays;
  }
}

TEST_P(ReplayFailures, OtherThreadsReplayTheSameGraphAndGoOnEagerly) {
  const auto function = [](const Tensor& x) { return tanh(x * 2) + exp(x); };
  const auto step = capture(function);
  (void)step(some(1, {4}));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      enter_thread();
      const DeviceScope on(device(0));
      for (std::uint64_t i = 0; i < 30; ++i) {
        const Tensor x = some(100 * t + i);
        const Tensor result = step(x);
        if (read<float>(result) != read<float>(function(x))) ++wrong;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ReplayFailures, AConstantThatFailedWhenItWasRecordedIsMadeAnew) {
  if (GetParam().backend != "sim") GTEST_SKIP() << "faults are injected into simulated GPUs";
  const auto step = capture([](const Tensor& x) { return x + constant({2.F}) * constant({3.F}); });
  inject_fault({.kind = FaultKind::kernel, .op = "Mul"});
  EXPECT_THROW((void)numbers(step(ones({1}))), AsyncError);
  clear_faults();
  clear_errors();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(numbers(step(ones({1}))), std::vector<float>{7});
}

// Kernels from outside may fail where ours do not: what others make does not fail with them.
TEST_P(ReplayFailures, AUsersOpSpoilsItsOwnResultAlone) {
  if (GetParam().backend == "cuda") GTEST_SKIP() << "its kernel is host code";
  const Kernel picky = [](const KernelCall& call, KernelContext&) {
    const auto* const in = call.in(0).as<const float>();
    auto* const out = call.out().as<float>();
    for (std::int64_t i = 0; i < call.out().count(); ++i) {
      if (in[i] < 0) throw std::runtime_error("it is negative");
      out[i] = in[i];
    }
  };
  register_op({.name = "Picky",
               .function = "picky",
               .infer = [](Inference& in) { in.output(in.dtype(0), in.shape(0)); },
               .is_elementwise = true},
              {.cpu = picky, .sim = picky});
  const auto function = [](const Tensor& x) {
    const Tensor y = exp(x);
    const Tensor z = call_op("Picky", {x})[0];
    return std::vector{y * 2, z};
  };
  const auto step = capture(function);
  (void)step(ones({40'000}));
  const std::vector<Tensor> found = step(full({40'000}, -1.F));
  EXPECT_EQ(numbers(found[0]), numbers(exp(full({40'000}, -1.F)) * 2));
  EXPECT_THAT(failure_of(found[1]), testing::AllOf(HasSubstr("it is negative"), HasSubstr("(op picky")));
  clear_errors();
}

TUTTI_ON_EVERY_BACKEND(ReplayFailures);

}  // namespace
}  // namespace tutti::conformance
