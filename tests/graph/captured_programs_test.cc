// Random programs of every kind of call, over several devices and streams, eager, captured and replayed: value by value.
//   --gtest_random_seed: the first program; each backend begins a thousand further on. TUTTI_TEST_CAPTURES: how many captures are
//   made and let go of.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/backend.h"
#include "graph/random_program.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t programs = 12;
constexpr std::uint64_t few_programs = 3;
constexpr std::uint64_t captures = 40;
constexpr std::uint64_t small_captures = 200;
#else
constexpr std::uint64_t programs = 300;
constexpr std::uint64_t few_programs = 30;
constexpr std::uint64_t captures = 100;
constexpr std::uint64_t small_captures = 10'000;
#endif

class CapturedPrograms : public OnBackend {
 protected:
  void TearDown() override { clear_faults(); }

  [[nodiscard]] static std::uint64_t first_seed() {
    const auto asked = static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed));
    std::uint64_t before = 0;
    for (const BackendCase& each : backends()) {
      if (each.name == GetParam().name) break;
      ++before;
    }
    return (asked != 0 ? asked : 1) + 1000 * before;
  }
};

// Now and then with tensors so large that element-wise kernels are fused.
ProgramOptions options(std::uint64_t seed) {
  const bool is_large = seed % 10 == 0;
  return {.side = is_large ? 182 : 6, .most_steps = is_large ? 20U : 50U};
}

void compare(const std::vector<Tensor>& wanted, const std::vector<Tensor>& given, const std::string& what,
             const std::string& told) {
  ASSERT_EQ(wanted.size(), given.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_TRUE(is_same(wanted[i], given[i])) << what << " " << i << " is\n"
                                              << to_string(given[i]) << "\nand not\n"
                                              << to_string(wanted[i]) << "\nin what was " << told;
}

void give_the_plain_runs_values(std::uint64_t first, std::uint64_t count, const std::vector<std::string>& devices) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program eager(seed, devices, options(seed));
    Program captured(seed, devices, options(seed));
    const auto step = capture([&](const std::vector<Tensor>& inputs) { return captured.run(inputs); });
    std::vector<Tensor> held;
    std::vector<Tensor> wanted_of_held;
    for (std::uint64_t call = 0; call < 5; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      const std::uint64_t layout = call == 3 ? seed + 1 : seed;  // one call makes another graph
      set_seed(seed * 10 + call);
      const std::vector<Tensor> wanted = eager.run(eager.inputs(seed * 100 + call * 7, layout));
      set_seed(seed * 10 + call);
      const std::vector<Tensor> given = step(captured.inputs(seed * 100 + call * 7, layout));
      compare(wanted, given, "result", explain(step));
      compare(eager.variables(), captured.variables(), "variable", explain(step));
      if (testing::Test::HasFatalFailure()) return;
      held.insert(held.end(), given.begin(), given.end());
      wanted_of_held.insert(wanted_of_held.end(), wanted.begin(), wanted.end());
    }
    compare(wanted_of_held, held, "held result", explain(step));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(CapturedPrograms, GiveThePlainRunsValues) {
  const std::uint64_t count = GetParam().backend == "cuda" ? 30 : programs;  // there each is compiled
  give_the_plain_runs_values(first_seed(), count, all_devices());
}

TEST_P(CapturedPrograms, GiveThePlainRunsValuesWhereNothingIsFused) {
  ASSERT_EQ(::setenv("TUTTI_FUSION", "off", 1), 0);
  give_the_plain_runs_values(first_seed() + 400, few_programs, all_devices());
}

TEST_P(CapturedPrograms, CallTheSameAgainWhereEachCallIsCompared) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  give_the_plain_runs_values(first_seed() + 500, few_programs, all_devices());
}

// Waits for all of it, and swallows what it is told.
void settle() {
  try {
    sync_devices();
  } catch (const Error&) {}
  clear_faults();
  clear_errors();
}

TEST_P(CapturedPrograms, AFaultAnywhereInAReplayIsToldAndTheNextReplayIsRight) {
  if (GetParam().backend != "sim") GTEST_SKIP() << "faults are injected into simulated GPUs";
  const std::uint64_t first = first_seed();
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + programs / 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Program eager(seed, all_devices(), options(seed));
    Program captured(seed, all_devices(), options(seed));
    const auto step = capture([&](const std::vector<Tensor>& inputs) { return captured.run(inputs); });
    (void)step(captured.inputs(seed, seed));
    for (std::uint64_t number = 1; number < 4; ++number) {
      const std::vector<Tensor> inputs = captured.inputs(seed + number, seed);
      sync_devices();
      const FaultKind kind = random() % 4 == 0 ? FaultKind::copy : random() % 8 == 0 ? FaultKind::allocation : FaultKind::kernel;
      inject_fault({.kind = kind, .skip = random() % 40, .times = 1 + random() % 2});
      std::vector<Tensor> results;
      try {
        results = step(inputs);
      } catch (const OutOfMemory&) {
        EXPECT_EQ(kind, FaultKind::allocation);
      }
      settle();
      std::vector<Tensor> all = results;
      for (const Tensor& each : captured.variables()) all.push_back(each);
      for (const Tensor& each : all) {
        try {
          (void)is_same(each, each);
        } catch (const AsyncError& error) {
          ++failed;
          const std::string told = error.what();
          EXPECT_NE(told.find("injected "), std::string::npos) << told;
          EXPECT_NE(told.find(", in replay "), std::string::npos) << told;
          EXPECT_NE(told.find("of the function captured at tests/graph/captured_programs_test.cc"), std::string::npos) << told;
        }
      }
      settle();
    }
    captured.begin_again();
    eager.begin_again();
    set_seed(seed);
    const std::vector<Tensor> wanted = eager.run(eager.inputs(seed * 100, seed));
    set_seed(seed);
    compare(wanted, step(captured.inputs(seed * 100, seed)), "result", explain(step));
    compare(eager.variables(), captured.variables(), "variable", explain(step));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(failed, programs / 8);
}

// What malloc has given away, but for pieces it maps by themselves: the room that a thread's first product takes is one, and is
// hardly used.
std::uint64_t heap_bytes() { return mallinfo2().uordblks; }

// What the process has of the machine's memory.
std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::uint64_t pages = 0;
  status >> pages >> pages;
  return pages * 4096;
}

TEST_P(CapturedPrograms, LeaveNothingBehind) {
  const auto in_use = [&] {
    sync_devices();
    std::uint64_t bytes = 0;
    for (const std::string& each : all_devices()) bytes += memory_info(each).in_use;
    return bytes;
  };
  const auto once = [&](std::uint64_t seed) {
    Program program(seed % 7 + 1, all_devices());
    const auto step = capture([&](const std::vector<Tensor>& inputs) { return program.run(inputs); });
    for (std::uint64_t call = 0; call < 3; ++call) (void)step(program.inputs(call, seed % 2));
    sync_devices();  // else the heap tells how far the host runs ahead
  };
  const char* const asked = std::getenv("TUTTI_TEST_CAPTURES");
  const std::uint64_t count = asked != nullptr ? std::strtoull(asked, nullptr, 10) : captures;
  for (std::uint64_t i = 0; i < 70; ++i) once(i);
  const std::uint64_t before = in_use();
  [[maybe_unused]] const std::uint64_t heap_before = heap_bytes();
  [[maybe_unused]] const std::uint64_t resident_before = resident_bytes();
  for (std::uint64_t i = 0; i < count; ++i) once(i);
  EXPECT_EQ(in_use(), before);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which keep what is freed
  if (GetParam().seed != 0) return;                                  // a stepped schedule is kept for whoever asks
  const std::uint64_t heap = heap_bytes();
  EXPECT_LT(heap - std::min(heap, heap_before), 4U << 20U) << "by " << count << " captures";  // threads keep pieces of their own
  const std::uint64_t resident = resident_bytes();
  EXPECT_LT(resident - std::min(resident, resident_before), 32U << 20U) << "by " << count << " captures";
#endif
}

TEST_P(CapturedPrograms, ThousandsOfCapturesLeaveNothingBehind) {
  if (GetParam().backend == "cuda") GTEST_SKIP() << "there each is compiled";
  const Variable scale(some(1));
  const auto function = [&](const Tensor& x, std::int64_t number) {
    scale.assign_add(x * 0.001);
    return softmax(tanh(x * scale) + uniform({4, 6}) + number);
  };
  const auto of_many = capture(function);  // which keeps those it used last
  const auto once = [&](std::uint64_t i) {
    const auto number = static_cast<std::int64_t>(i);
    const auto of_one = capture(function);
    for (int call = 0; call < 2; ++call) (i % 2 == 0 ? of_one : of_many)(some(i), number);
    if (i % 100 == 0) sync_devices();
  };
  const auto in_use = [&] {
    sync_devices();
    std::uint64_t bytes = 0;
    for (const std::string& each : all_devices()) bytes += memory_info(each).in_use;
    return bytes;
  };
  for (std::uint64_t i = 0; i < 200; ++i) once(i);
  const std::uint64_t before = in_use();
  [[maybe_unused]] const std::uint64_t resident_before = resident_bytes();
  for (std::uint64_t i = 200; i < 200 + small_captures; ++i) once(i);
  EXPECT_EQ(in_use(), before);
  EXPECT_NE(explain(of_many).find(": 32 graphs"), std::string::npos);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which keep what is freed
  if (GetParam().seed != 0) return;                                  // a stepped schedule is kept for whoever asks
  const std::uint64_t resident = resident_bytes();
  EXPECT_LT(resident - std::min(resident, resident_before), 8U << 20U);
#endif
}

TUTTI_ON_EVERY_BACKEND(CapturedPrograms);

}  // namespace
}  // namespace tutti::conformance
