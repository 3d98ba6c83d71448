// A process that takes the rank of one that died is a member like the others, any number of times.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

constexpr int world = 3;

struct Rounds {
  std::atomic<int> joined;
  std::atomic<int> kills;
  std::atomic<int> is_last;
  std::atomic<int> steps[world];
  std::atomic<int> failures[world];
};

// Steps of a barrier and a sum. Who loses another on the way waits until that rank is taken again, and goes on.
void step_until_the_last(Rounds& rounds, int rank) {
  simulate_gpus(1);
  join_job({.heartbeat = 100ms});
  rounds.joined.fetch_add(1);
  const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
  for (;;) {
    try {
      barrier(mesh, {.name = "step", .timeout = 60s});
      const double mine = rank + 1 + (rounds.is_last != 0 ? 100 : 0);
      const auto sums = read<double>(all_reduce({full({1000}, mine, DType::f64)}, mesh, "x", Reduction::sum)[0]);
      rounds.steps[rank].fetch_add(1);
      if (sums[999] > 6) return;
      require(sums[0] == 6 && sums[999] == 6, "the sum is " + std::to_string(sums[999]));
    } catch (const Error& e) {
      rounds.failures[rank].fetch_add(1);
      require_in(unfolded(e.what()), "died");
      await_at_least(rounds.joined, world + rounds.kills);
    }
  }
}

class Restarted : public testing::TestWithParam<bool> {};

}  // namespace

TEST_P(Restarted, MeetsAndExchangesWithTheOthersAgainAndAgain) {
  ::setenv("TUTTI_SHARED_MEMORY", GetParam() ? "1" : "0", 1);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const int times = is_sanitized() ? 2 : 6;
  std::vector<int> failures(world);
  const Witness<Rounds> rounds;
  Job job(world, [&](int rank) { step_until_the_last(*rounds, rank); });
  for (int round = 0; round < times; ++round) {
    int before[world];
    for (int rank = 0; rank < world; ++rank) before[rank] = rounds->steps[rank];
    const auto until = Clock::now() + 60s;
    for (int rank = 0; rank < world; ++rank) {
      while (rounds->steps[rank] < before[rank] + 2) ASSERT_LT(Clock::now(), until) << "rank " << rank << ", round " << round;
    }
    const auto at = Clock::now() + std::chrono::microseconds(random() % 20'000);
    while (Clock::now() < at) {}
    const int victim = static_cast<int>(random() % world);
    rounds->kills.fetch_add(1);
    job.signal(victim, SIGKILL);
    EXPECT_EQ(job.status(victim), -SIGKILL);
    job.start(victim);
    for (int rank = 0; rank < world; ++rank) failures[static_cast<std::size_t>(rank)] += rank != victim ? 1 : 0;
  }
  await_at_least(rounds->joined, world + times);
  rounds->is_last = 1;
  job.expect_success();
  for (int rank = 0; rank < world; ++rank)
    EXPECT_EQ(rounds->failures[rank], failures[static_cast<std::size_t>(rank)]) << "a loss is told once, rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(Processes, Restarted, testing::Bool(),
                         [](const auto& it) { return it.param ? "InSharedMemory" : "ThroughSockets"; });

}  // namespace tutti
