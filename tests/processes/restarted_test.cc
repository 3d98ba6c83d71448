// A process that takes the rank of one that died is a member like the others, any number of times.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "processes/restarts.h"

namespace tutti {

namespace {

using namespace testing_processes;

enum class Way { shared_memory, sockets, shared_memory_under_load };

std::string name_of(const testing::TestParamInfo<Way>& it) {
  return it.param == Way::shared_memory ? "InSharedMemory" : it.param == Way::sockets ? "ThroughSockets" : "UnderLoad";
}

class Restarted : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    ::setenv("TUTTI_SHARED_MEMORY", GetParam() == Way::sockets ? "0" : "1", 1);
    if (GetParam() != Way::shared_memory_under_load) return;
    const auto several = 3 * static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    load_.emplace(several, [](int) {
      for (volatile unsigned spins = 0;;) spins = spins + 1;
    });
  }

 private:
  std::optional<testing_engines::Processes> load_;
};

}  // namespace

TEST_P(Restarted, MeetsAndExchangesWithTheOthersAgainAndAgain) {
  const Witness<Rounds> rounds;
  Job job(Rounds::world, [&](int rank) {
    simulate_gpus(1);
    join_job({.heartbeat = 100ms});
    step_until_the_last(*rounds, rank, create_distributed_mesh({{"x", -1}}, {"GPU:0"}));
  });
  kill_and_start_again(job, *rounds, is_sanitized() ? 2 : 6);
}

// A loss that one group has been told of is no news in another.
TEST_P(Restarted, IsMetAtOnceInEveryGroupByThoseWhoKnowOfTheLoss) {
  const Witness<Board> board;
  Job job(3, [&](int rank) {
    const bool is_second = board->stage != 0;
    join_job({});
    const Mesh all = create_distributed_mesh({{"x", -1}}, {"CPU:0"});
    const Mesh pair = parse_mesh("|x=2|/task:0/device:CPU:0,/task:2/device:CPU:0");
    const auto meet_as_a_pair = [&] {
      if (rank == 1) return;
      barrier(pair, {.timeout = 30s});
      require(item<float>(all_reduce({ones({1})}, pair, "x", Reduction::sum)[0]) == 2, "the sum is wrong");
    };
    if (is_second) {
      board->stage = 2;
    } else {
      for (int i = 0; i < 2; ++i) {  // from the second on in shared memory
        barrier(all, {.timeout = 30s});
        meet_as_a_pair();
      }
      board->count.fetch_add(1);
      if (rank == 2) {
        for (;;) ::pause();
      }
      await_at_least(board->stage, 1);
      (void)thrown_by<MemberLost>([&] { barrier(all, {.timeout = 30s}); }, 20s);
      board->count.fetch_add(1);
      await_at_least(board->stage, 2);
    }
    meet_as_a_pair();
    barrier(all, {.timeout = 30s});
  });
  await_at_least(board->count, 3);
  job.signal(2, SIGKILL);
  EXPECT_EQ(job.status(2), -SIGKILL);
  board->stage = 1;
  await_at_least(board->count, 5);
  job.start(2);
  job.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Processes, Restarted, testing::Values(Way::shared_memory, Way::sockets, Way::shared_memory_under_load),
                         name_of);

}  // namespace tutti
