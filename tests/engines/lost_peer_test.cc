// An exchange whose member is lost, stopped or reported as failed ends for all the others, in time and with a reason.
#include <gtest/gtest.h>

#include <signal.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "engines/engine.h"
#include "engines/processes.h"

namespace tutti::testing_engines {

namespace {

using namespace std::chrono_literals;

struct Witnessed {
  std::array<std::atomic<std::uint32_t>, 8> rounds;
  std::array<std::atomic<std::int64_t>, 8> milliseconds;  // of the call that failed
  std::atomic<int> ended;
};

void exchange_once(Exchange& exchange, std::vector<float>& data, std::uint32_t round, Deadline deadline) {
  const auto count = round % 4 == 0 ? data.size() : 1;
  exchange.all_reduce(data.data(), data.data(), count, DType::f32, Reduction::max, deadline);
}

// Goes on until it fails. How long the last call took, and what it said.
std::string until_failure(Exchange& exchange, Witnessed& seen, std::size_t elements, std::chrono::milliseconds longest) {
  std::vector<float> data(elements);
  const auto self = static_cast<std::size_t>(exchange.index());
  for (;;) {
    const auto start = Clock::now();
    try {
      // The first starts when the last process has.
      exchange_once(exchange, data, seen.rounds[self], seen.rounds[self] == 0 ? in(30s) : Deadline(start + longest));
    } catch (const Error& e) {
      seen.ended.fetch_add(1);
      seen.milliseconds[self] = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
      return e.message();
    }
    seen.rounds[self].fetch_add(1);
  }
}

// False: one of them failed before.
bool reaches(const Witnessed& seen, int member, std::uint32_t round) {
  const auto late = in(60s);
  while (seen.rounds[static_cast<std::size_t>(member)] < round) {
    if (seen.ended != 0 || Clock::now() > *late) return false;
    std::this_thread::yield();
  }
  return true;
}

// Through small slabs they would take many steps.
std::size_t elements_for(Engine engine) { return engine == Engine::small_slabs ? 6'000 : 30'000; }

}  // namespace

class LosingAPeer : public testing::TestWithParam<Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, LosingAPeer, testing::ValuesIn(all_engines()),
                         [](const auto& it) { return name_of(it.param); });

TEST_P(LosingAPeer, AtAnyMomentEndsTheCallOfAllOthersByTheirDeadline) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  auto patience = 500ms;
  for (int trial = 0; trial < 3;) {
    const int size = std::array{2, 4, 8}[static_cast<std::size_t>(trial)];
    const int lost = static_cast<int>(random() % static_cast<unsigned>(size));
    const int signal = random() % 2 == 0 ? SIGKILL : SIGSTOP;
    Blackboard board;
    Witness<Witnessed> seen;
    Processes processes(size, [&](int index) {
      const auto exchange = open_exchange(GetParam(), board, "exchange", size, index);
      const std::string said = until_failure(*exchange, *seen, elements_for(GetParam()), patience);
      require(said.find("all_reduce") != std::string::npos, "does not say what failed: " + said);
      // And it stays so, without another wait.
      try {
        std::vector<float> data(1);
        exchange_once(*exchange, data, 1, in(60s));
        require(false, "went on after a failure");
      } catch (const ExchangeFailed&) {}
    });
    if (!reaches(*seen, lost, 1 + random() % 20)) {
      // A machine so slow that all of them together need longer: nothing was lost yet.
      patience *= 2;
      ASSERT_LT(patience, 20s);
      continue;
    }
    processes.signal(lost, signal);
    for (int index = 0; index < size; ++index) {
      if (index == lost) continue;
      EXPECT_EQ(processes.status(index), 0) << "trial " << trial << ", member " << index << " of " << size << ", lost " << lost;
      EXPECT_LE(seen->milliseconds[static_cast<std::size_t>(index)], (patience + 1s).count())
          << "member " << index << " of " << size;
    }
    ++trial;
  }
}

TEST_P(LosingAPeer, IsKnownAtOnceWhereSomeoneReportsIt) {
  Blackboard board;
  Witness<Witnessed> seen;
  Processes processes(4, [&](int index) {
    const auto exchange = open_exchange(GetParam(), board, "exchange", 4, index);
    // As the control plane does: every survivor is told, on a thread of its own.
    std::jthread control([&, index] {
      if (index == 2) return;
      (void)board.get("2 is dead", in(60s));
      exchange->fail("rank 2 died");
    });
    const std::string said = until_failure(*exchange, *seen, elements_for(GetParam()), 60s);
    // Of the sockets' own accord it may be known a moment earlier.
    require(said.find("rank 2 died") != std::string::npos ||
                (goes_through_sockets(GetParam()) && said.find("member 2") != std::string::npos),
            said);
    require(seen->milliseconds[static_cast<std::size_t>(index)] < 20'000, "waited for the deadline");
  });
  ASSERT_TRUE(reaches(*seen, 2, 5));
  processes.signal(2, SIGSTOP);
  // All wait for it now, or will.
  board.put("2 is dead", "");
  for (const int index : {0, 1, 3}) EXPECT_EQ(processes.status(index, 40s), 0) << "member " << index;
}

TEST_P(LosingAPeer, IsBlamedByName) {
  Blackboard board;
  Processes processes(3, [&](int index) {
    const auto exchange = open_exchange(GetParam(), board, "exchange", 3, index);
    float value = 1;
    exchange->all_reduce(&value, &value, 1, DType::f32, Reduction::sum, in(30s));
    if (index == 1) {
      (void)board.get("0 is over", in(60s));
      return (void)board.get("2 is over", in(60s));
    }
    std::string said;
    try {
      exchange->all_reduce(&value, &value, 1, DType::f32, Reduction::sum, index == 0 ? in(200ms) : in(400ms));
    } catch (const Error& e) {
      said = e.message();
    }
    // Of its own deadline or of the other's.
    require(said.find("all_reduce of 4 B between 3 processes") == 0, "does not say what failed: " + said);
    require(said.find("members not there: 1") != std::string::npos, "does not say who is missing: " + said);
    board.put(std::to_string(index) + " is over", "");
  });
  processes.expect_success();
}

}  // namespace tutti::testing_engines
