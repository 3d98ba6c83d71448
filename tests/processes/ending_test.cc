// A process that ends while collectives of it are still under way: it neither hangs nor crashes, and takes leave as always.
#include <gtest/gtest.h>

#include <string_view>
#include <thread>
#include <vector>

#include "processes/job.h"
#include "tutti/place/runtime.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

Mesh everyone() {
  simulate_gpus(1);
  return create_distributed_mesh({{"x", -1}}, {"GPU:0"});
}

std::vector<Tensor> reduced(const Mesh& mesh) { return all_reduce({ones({3})}, mesh, {"x"}, Reduction::sum); }

void await_reduction_under_way() {
  for (;;) {
    for (DeviceStream* stream : runtime(Site()).cpu().streams()) {
      for (const PendingWork& work : stream->pending()) {
        if (work.running && std::string_view(work.op) == "AllReduce") return;
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
