// Members that connect through sockets while one of them stands still or dies: it ends by the deadline, or when they are told to,
// for every one of the others.
#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "engines/processes.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/socket_exchange.h"

namespace tutti::testing_engines {

namespace {

using namespace std::chrono_literals;

constexpr int members = 4;
constexpr int stopped = 2;

// Gets a signal at one of its calls: the n-th, put or get.
class Struck final : public Rendezvous {
 public:
  Struck(Rendezvous& board, int signal, int call) : board_(board), signal_(signal), call_(call) {}
  void put(const std::string& key, const std::string& value) override {
    board_.put(key, value);
    strike();
  }
  std::string get(const std::string& key, Deadline deadline) override {
    const std::string value = board_.get(key, deadline);
    strike();
    return value;
  }

 private:
  void strike() {
    if (calls_++ != call_) return;
    board_.put("it is struck", "");
    ::raise(signal_);
  }

  Rendezvous& board_;
  int signal_;
  int call_;
  int calls_ = 0;
};

std::unique_ptr<Exchange> open(Rendezvous& board, int size, int index, Deadline deadline, std::stop_token stop = {}) {
  return open_socket_exchange(board, "exchange", size, index, deadline,
                              {.secret = "a secret of a test", .stop = std::move(stop)});
}

// All but the one that stands still once it has said where it listens: those above it connect to it, those below wait for it.
void beside_one_that_stands_still(const std::function<void(Rendezvous& board, int index)>& others) {
  Blackboard board;
  Processes processes(members, [&](int index) {
    if (index != stopped) return others(board, index);
    Struck stands_still(board, SIGSTOP, 0);
    (void)open(stands_still, members, index, in(60s));
  });
  for (int index = 0; index < members; ++index) {
    if (index == stopped) continue;
    EXPECT_EQ(processes.status(index, 20s), 0) << index;
  }
}

}  // namespace

TEST(Connecting, EndsByTheDeadline) {
  beside_one_that_stands_still([](Rendezvous& board, int index) {
    const auto begin = Clock::now();
    try {
      (void)open(board, members, index, begin + 500ms);
      require(false, "it believes that it has connected");
    } catch (const DeadlineExceeded& e) {
      require(Clock::now() - begin < 500ms + 1s, "it took longer than its deadline");
      require(e.message().find("was not connected in time to member 2") != std::string::npos, e.message());
    } catch (const ExchangeFailed& e) {
      // Another's deadline came first.
      require(e.message().find("closed its connection") != std::string::npos, e.message());
    }
  });
}

TEST(Connecting, EndsAtOnceWhenItIsToldTo) {
  beside_one_that_stands_still([](Rendezvous& board, int index) {
    std::stop_source stop;
    Clock::time_point told;
    std::jthread control([&] {
      (void)board.get("it is struck", in(30s));
      ::poll(nullptr, 0, 100);  // it is in the middle of it by then, or a moment before
      told = Clock::now();
      stop.request_stop();
    });
    try {
      (void)open(board, members, index, in(60s), stop.get_token());
      require(false, "it believes that it has connected");
    } catch (const ExchangeFailed& e) {
      control.join();
      require(Clock::now() - told < 2s, "it took long after it was told to stop");
    }
  });
}

namespace {

constexpr int crowd = 8;

// As the coordinator's store: who waits for a key does so until one of them is known to be dead.
class UntilTold final : public Rendezvous {
 public:
  UntilTold(Rendezvous& board, std::stop_token stop) : board_(board), stop_(std::move(stop)) {}
  void put(const std::string& key, const std::string& value) override { board_.put(key, value); }
  std::string get(const std::string& key, Deadline deadline) override {
    for (;;) {
      try {
        return board_.get(key, Clock::now() + 5ms);
      } catch (const DeadlineExceeded&) {
        if (Clock::now() >= *deadline) throw;
        if (stop_.stop_requested()) throw ExchangeFailed("one of the group is gone", Site());
      }
    }
  }

 private:
  Rendezvous& board_;
  std::stop_token stop_;
};

// Until it fails: while it connects, or afterwards in a sum, since somebody is missing. Told of the death as by the control
// plane.
void outlive(Rendezvous& board, int index) {
  std::stop_source stop;
  std::jthread control([&] {
    (void)board.get("it is dead", in(60s));
    stop.request_stop();
  });
  try {
    UntilTold store(board, stop.get_token());
    const auto exchange = open(store, crowd, index, in(30s), stop.get_token());
    for (float value = 1;;) exchange->all_reduce(&value, &value, 1, DType::f32, Reduction::sum, in(30s));
  } catch (const ExchangeFailed&) {
  } catch (const DeadlineExceeded&) {}
}

}  // namespace

TEST(Connecting, OutlivesAMemberThatIsKilledMeanwhile) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < (is_sanitized() ? 6 : 20); ++trial) {
    const int lost = static_cast<int>(random() % crowd);
    // Half of them die at a certain call, half at any moment after they have begun.
    const bool is_struck = trial % 2 == 0;
    const int calls = lost + (lost + 1 < crowd ? 1 : 0);
    const int call = static_cast<int>(random() % static_cast<unsigned>(calls));
    Blackboard board;
    Processes processes(crowd, [&](int index) {
      if (index == lost && is_struck) {
        Struck dies(board, SIGKILL, call);
        return outlive(dies, index);
      }
      if (index == lost) board.put("it has begun", "");
      outlive(board, index);
    });
    if (is_struck) {
      (void)board.get("it is struck", in(30s));
    } else {
      (void)board.get("it has begun", in(30s));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 8'000));
      processes.signal(lost, SIGKILL);
    }
    board.put("it is dead", "");
    const auto begin = Clock::now();
    for (int index = 0; index < crowd; ++index) {
      if (index == lost) continue;
      EXPECT_EQ(processes.status(index, 20s), 0) << "trial " << trial << ", member " << index << ", lost " << lost;
    }
    EXPECT_LT(Clock::now() - begin, 5s) << "trial " << trial;
    if (HasFailure()) return;
  }
}

}  // namespace tutti::testing_engines
