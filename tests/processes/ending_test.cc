// A process that ends while collectives of it are still under way: it neither hangs nor crashes, takes leave as always, and the
// others are told of it and of nothing else.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "processes/job.h"
#include "tutti/place/runtime.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

constexpr std::int64_t many = 16 << 20;  // elements: they take a while

// Where it is not null, the next message waits until somebody has been told something, or a while.
std::atomic<Board*> holds_a_message = nullptr;

void wait_until_told(const Board& board) {
  const auto until = Clock::now() + 1500ms;
  while (board.stage == 0 && Clock::now() < until) std::this_thread::yield();
}

}  // namespace

}  // namespace tutti

// Instead of the C library's, in this program.
extern "C" ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  if (const tutti::testing_processes::Board* const board = tutti::holds_a_message.exchange(nullptr))
    tutti::wait_until_told(*board);
  return sendto(socket, data, bytes, flags, nullptr, 0);
}

namespace tutti {

namespace {

Mesh everyone() {
  simulate_gpus(1);
  return create_distributed_mesh({{"x", -1}}, {"GPU:0"});
}

std::vector<Tensor> reduced(const Mesh& mesh, std::int64_t count = 3) {
  return all_reduce({ones({count})}, mesh, {"x"}, Reduction::sum);
}

void await_reduction_under_way() {
  for (;;) {
    for (DeviceStream* stream : runtime(Site()).cpu().streams()) {
      for (const PendingWork& work : stream->pending()) {
        if (work.running && std::string_view(work.op) == "all_reduce") return;
      }
    }
    std::this_thread::yield();
  }
}

// How often the ranks have reduced together before: never, so that the last one waits at the coordinator, or often enough to wait
// in shared memory.
class EndingAfter : public testing::TestWithParam<int> {};

TEST_P(EndingAfter, DoesNotWaitForWhoDoesNotCome) {
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    const Mesh mesh = everyone();
    for (int i = 0; i < GetParam(); ++i) require(read<float>(reduced(mesh)[0])[0] == 2, "the sum is wrong");
    if (rank == 0) {
      reduced(mesh);  // in vain
      await_reduction_under_way();
      return;
    }
    await_at_least(board->stage, 1);
  });
  EXPECT_EQ(job.status(0, 20s), 0);
  board->stage = 1;
  EXPECT_EQ(job.status(1, 20s), 0);
}

INSTANTIATE_TEST_SUITE_P(Meetings, EndingAfter, testing::Values(0, 1, 4));

// Of two: the first sum that the other does not end in the middle of, or its loss.
void sum_with_one_who_ends(const Mesh& mesh, const char* how) {
  try {
    const auto sum = read<float>(reduced(mesh, many)[0]);
    require(sum.front() == 2 && sum.back() == 2, "the sum is wrong");
  } catch (const MemberLost& e) {
    require_in(unfolded(e.what()), "missing: rank 0 (");
    require_in(unfolded(e.what()), how);
  }
}

class EndingInTheMiddle : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { ::setenv("TUTTI_SHARED_MEMORY", GetParam() ? "1" : "0", 1); }
};

TEST_P(EndingInTheMiddle, IsALossForWhoExchangesWithIt) {
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed < first + (is_sanitized() ? 2 : 8); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Witness<Board> board;
    Job job(2, [&](int rank) {
      const Mesh mesh = everyone();
      for (int i = 0; i < 2; ++i) read<float>(reduced(mesh)[0]);
      if (rank == 1) {
        board->stage = 1;
        return sum_with_one_who_ends(mesh, "left");
      }
      await_at_least(board->stage, 1);
      reduced(mesh, many);
      await_reduction_under_way();
      const auto at = Clock::now() + std::chrono::microseconds(std::mt19937(seed)() % 20'000);
      while (Clock::now() < at) {}
      std::exit(1);
    });
    ASSERT_EQ(job.status(0, 20s), 1);
    ASSERT_EQ(job.status(1, 20s), 0);
  }
}

TEST_P(EndingInTheMiddle, IsALossAlsoWhereTheCoordinatorHearsOfItLate) {
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    const Mesh mesh = everyone();
    for (int i = 0; i < 2; ++i) read<float>(reduced(mesh)[0]);
    if (rank == 1) return sum_with_one_who_ends(mesh, "died");
    reduced(mesh, many);
    await_reduction_under_way();
    board->stage = 1;
    await_at_least(board->stage, 2);  // in vain
  });
  await_at_least(board->stage, 1);
  job.signal_coordinator(SIGSTOP);
  job.signal(0, SIGKILL);
  ::poll(nullptr, 0, 700);  // so long is it away
  job.signal_coordinator(SIGCONT);
  EXPECT_EQ(job.status(1, 20s), 0);
}

INSTANTIATE_TEST_SUITE_P(Processes, EndingInTheMiddle, testing::Bool(),
                         [](const auto& it) { return it.param ? "InSharedMemory" : "ThroughSockets"; });

TEST(Ending, IsToldToTheCoordinatorBeforeOthersSeeItInSharedMemory) {
  const Witness<Board> board;
  Job job(3, [&](int rank) {
    const Mesh mesh = everyone();
    for (int i = 0; i < 2; ++i) read<float>(reduced(mesh)[0]);
    if (rank == 2) return await_at_least(board->stage, 1);  // and does not come
    const std::vector<Tensor> sum = reduced(mesh);
    await_reduction_under_way();
    board->count.fetch_add(1);
    await_at_least(board->count, 2);
    if (rank == 0) {
      holds_a_message = &*board;
      return;
    }
    const std::string why = thrown_by<MemberLost>([&] { read<float>(sum[0]); }, 20s);
    board->stage = 1;
    require_in(why, "missing: rank 0 (");
  });
  EXPECT_EQ(job.status(1, 20s), 0);
  board->stage = 1;
  EXPECT_EQ(job.status(0, 20s), 0);
  EXPECT_EQ(job.status(2, 20s), 0);
}

TEST(Ending, WithMuchUnderWayIsQuiet) {
  for (int round = 0; round < (is_sanitized() ? 5 : 30); ++round) {
    Job job(2, [&](int) {
      const Mesh mesh = everyone();
      for (int i = 0; i < round % 5; ++i) read<float>(reduced(mesh)[0]);
      for (int i = 0; i < 20; ++i) reduced(mesh);
    });
    for (const int rank : {0, 1}) ASSERT_EQ(job.status(rank, 20s), 0) << "rank " << rank << " in round " << round;
  }
}

}  // namespace

}  // namespace tutti
