// Members that connect through gloo while one of them stands still: it ends by the deadline, or when it is told to.
#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

#include "engines/processes.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/gloo_exchange.h"

namespace tutti::testing_engines {

namespace {

using namespace std::chrono_literals;

constexpr int members = 4;
constexpr int stopped = 2;

// Stands still once it has said where it can be reached.
class StopsAfterPut final : public Rendezvous {
 public:
  explicit StopsAfterPut(Rendezvous& board) : board_(board) {}
  void put(const std::string& key, const std::string& value) override {
    board_.put(key, value);
    board_.put("it stands still", "");
    ::raise(SIGSTOP);
  }
  std::string get(const std::string& key, Deadline deadline) override { return board_.get(key, deadline); }

 private:
  Rendezvous& board_;
};

// Who connects to one that stands still believes that it has; who waits to be connected to does not come back. Which is which
// depends on their ports.
class Connecting : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no gloo";
  }

  // How often one of the others was kept waiting, until some were.
  template <class Open>
  static void until_some_wait(const Open& open) {
    for (int trial = 0; trial < 20; ++trial) {
      Blackboard board;
      const Witness<std::atomic<int>> kept;
      Processes processes(members, [&](int index) {
        if (index == stopped) {
          StopsAfterPut stops(board);
          (void)open_gloo_exchange(stops, "gloo", members, index, in(60s));
          return;
        }
        if (open(board, index)) kept->fetch_add(1);
      });
      for (int index = 0; index < members; ++index) {
        if (index == stopped) continue;
        EXPECT_EQ(processes.status(index, 20s), 0) << index;
      }
      if (kept->load() != 0 || HasFailure()) return;
    }
    ADD_FAILURE() << "nobody waited for the one that stood still";
  }
};

}  // namespace

TEST_F(Connecting, EndsByTheDeadline) {
  until_some_wait([](Rendezvous& board, int index) {
    const auto begin = Clock::now();
    try {
      (void)open_gloo_exchange(board, "gloo", members, index, begin + 500ms);
      return false;
    } catch (const DeadlineExceeded&) {
      require(Clock::now() - begin < 500ms + 1s, "it took longer than its deadline");
      return true;
    }
  });
}

TEST_F(Connecting, EndsAtOnceWhenItIsToldTo) {
  until_some_wait([](Rendezvous& board, int index) {
    std::stop_source stop;
    Clock::time_point told;
    std::jthread control([&] {
      (void)board.get("it stands still", in(30s));
      ::poll(nullptr, 0, 100);  // it is in the middle of it by then, or a moment before
      told = Clock::now();
      stop.request_stop();
    });
    try {
      (void)open_gloo_exchange(board, "gloo", members, index, in(60s), {.stop = stop.get_token()});
      return false;
    } catch (const ExchangeFailed& e) {
      control.join();
      require(Clock::now() - told < 2s, "it took long after it was told to stop");
      return true;
    }
  });
}

}  // namespace tutti::testing_engines
