// A GPU whose partner never comes, stops or dies is free again by the deadline, or as soon as someone says so.
#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "nccl/gpu_processes.h"
#include "nccl/host_view.h"

namespace tutti::testing_nccl {

namespace {

using namespace std::chrono_literals;

// What a call throws, and that it came soon enough.
template <class Failure, class Call>
std::string thrown_within(std::chrono::milliseconds longest, Call&& call) {
  const auto begin = Clock::now();
  std::string said;
  try {
    call();
  } catch (const Failure& e) {
    said = e.message();
  }
  require(!said.empty(), "nothing was thrown");
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  require(took <= longest, "it took " + std::to_string(took.count()) + " ms: " + said);
  return said;
}

void require_in(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "'" + part + "' is not in: " + text);
}

float summed(Exchange& exchange, Deadline deadline) {
  HostView view(exchange);
  float value = 1;
  view.all_reduce(&value, &value, 1, DType::f32, Reduction::sum, deadline);
  return value;
}

}  // namespace

TEST(NcclMembers, ThatNeverComeEndTheMeetingAtItsDeadline) {
  TUTTI_NEED_GPU_AND_NCCL();
  Blackboard board;
  Processes processes(1, [&](int index) {
    take_a_host_of_its_own(index);
    // What is loaded at first use, a second's worth of code, is not the meeting's.
    require(summed(*open_on_gpu(board, "warm-up", 1, 0), in(60s)) == 1, "alone");
    const std::string said = thrown_within<DeadlineExceeded>(3s, [&] { (void)open_on_gpu(board, "two", 2, 0, 2s); });
    require_in(said, "between 2 GPUs was given up: its deadline passed");
    require(summed(*open_on_gpu(board, "one", 1, 0), in(30s)) == 1, "the GPU works on, with a new communicator");
  });
  processes.expect_success();
}

TEST(NcclMembers, ThatComeTooLateEndTheCallAtItsDeadlineAndANewExchangeWorks) {
  TUTTI_NEED_GPU_AND_NCCL();
  Blackboard board;
  Processes processes(2, [&](int index) {
    take_a_host_of_its_own(index);
    const auto exchange = open_on_gpu(board, "exchange", 2, index);
    require(summed(*exchange, in(60s)) == 2, "both");
    if (index == 0) {
      const std::string said = thrown_within<DeadlineExceeded>(2s, [&] { (void)summed(*exchange, in(1s)); });
      require_in(said, "all_reduce of 4 B between 2 GPUs was given up: its deadline passed");
      (void)thrown_within<ExchangeFailed>(1s, [&] { (void)summed(*exchange, in(60s)); });
      board.put("0 gave up", "");
    } else {
      (void)board.get("0 gave up", in(60s));
      exchange->fail("rank 0 gave up");
      require_in(thrown_within<ExchangeFailed>(1s, [&] { (void)summed(*exchange, in(60s)); }), "rank 0 gave up");
    }
    require(summed(*open_on_gpu(board, "again", 2, index), in(60s)) == 2, "both, again");
  });
  processes.expect_success();
}

TEST(NcclMembers, ThatSomeoneReportsAsLostEndTheCallAtOnce) {
  TUTTI_NEED_GPU_AND_NCCL();
  Blackboard board;
  Processes processes(2, [&](int index) {
    take_a_host_of_its_own(index);
    const auto exchange = open_on_gpu(board, "exchange", 2, index);
    require(summed(*exchange, in(60s)) == 2, "both");
    if (index == 1) return (void)board.get("0 is over", in(60s));
    std::jthread control([&] {
      (void)board.get("0 waits", in(60s));
      exchange->fail("rank 1 died");
    });
    board.put("0 waits", "");
    require_in(thrown_within<ExchangeFailed>(10s, [&] { (void)summed(*exchange, in(60s)); }), "rank 1 died");
    board.put("0 is over", "");
  });
  processes.expect_success();
}

TEST(NcclMembers, ThatAreKilledEndTheCallByItsDeadline) {
  TUTTI_NEED_GPU_AND_NCCL();
  Blackboard board;
  testing_engines::Witness<std::atomic<int>> rounds;
  Processes processes(2, [&](int index) {
    take_a_host_of_its_own(index);
    const auto exchange = open_on_gpu(board, "exchange", 2, index);
    require(summed(*exchange, in(60s)) == 2, "both");
    std::string said;
    for (;;) {
      const auto begin = Clock::now();
      try {
        (void)summed(*exchange, begin + 5s);
        if (index == 0) rounds->fetch_add(1);
      } catch (const Error& e) {
        require(Clock::now() - begin <= 6s, "too late: " + e.message());
        said = e.message();
        break;
      }
    }
    require_in(said, "all_reduce of 4 B between 2 GPUs");
    require(summed(*open_on_gpu(board, "alone", 1, 0), in(30s)) == 1, "goes on alone");
  });
  const auto late = in(60s);
  while (rounds->load() < 5 && Clock::now() < *late) std::this_thread::yield();
  ASSERT_GE(rounds->load(), 5);
  processes.signal(1, SIGKILL);
  EXPECT_EQ(processes.status(0), 0);
}

}  // namespace tutti::testing_nccl
