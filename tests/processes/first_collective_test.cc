// A process that dies at any moment of the first collective, in which the processes connect to each other, ends it for all.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <string>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

constexpr std::chrono::milliseconds dead_after = is_sanitized() ? 10s : 1500ms;

class FirstCollective : public testing::TestWithParam<bool> {};

}  // namespace

TEST_P(FirstCollective, EndsForAllWhenOneDiesInTheMiddleOfIt) {
  ::setenv("TUTTI_SHARED_MEMORY", GetParam() ? "1" : "0", 1);
  const unsigned first = std::random_device()();
  const int trials = is_sanitized() ? 2 : 16;
  for (int trial = 0; trial < trials; ++trial) {
    const unsigned seed = first + static_cast<unsigned>(trial);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const int world = 2 + static_cast<int>(random() % 3);
    const int victim = static_cast<int>(random() % static_cast<unsigned>(world));
    const int signal = random() % 2 == 0 ? SIGKILL : SIGSTOP;
    const auto delay = std::chrono::microseconds(random() % 30'000);
    const Witness<Board> board;
    CoordinatorOptions coordinator;
    coordinator.world = world;
    coordinator.dead_after = dead_after;
    Job job(coordinator, [&](int rank) {
      simulate_gpus(1);
      join_job({.heartbeat = 50ms, .dead_after = dead_after});
      const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
      barrier(mesh, {.timeout = 30s});
      board->count.fetch_add(1);
      const auto begin = Clock::now();
      try {
        for (;;) (void)read<float>(all_reduce({ones({100})}, mesh, "x", Reduction::sum)[0]);
      } catch (const MemberLost& e) {
        const std::string what = unfolded(e.what());
        require(rank != victim, what);
        require(Clock::now() - begin < dead_after + 3 * slack, "it took too long: " + what);
      }
    });
    await_at_least(board->count, world);
    const auto at = Clock::now() + delay;
    while (Clock::now() < at) {}
    job.signal(victim, signal);
    for (int rank = 0; rank < world; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(job.status(rank), 0) << "rank " << rank << " of " << world << ", victim " << victim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, FirstCollective, testing::Bool(),
                         [](const auto& it) { return it.param ? "InSharedMemory" : "ThroughSockets"; });

}  // namespace tutti
