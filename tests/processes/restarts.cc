#include "processes/restarts.h"

#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>

namespace tutti::testing_processes {

void step_until_the_last(Rounds& rounds, int rank, const Mesh& mesh) {
  rounds.joined.fetch_add(1);
  for (;;) {
    try {
      barrier(mesh, {.name = "step", .timeout = 60s});
      const double mine = rank + 1 + (rounds.is_last != 0 ? 100 : 0);
      const auto sums = read<double>(all_reduce({full({1000}, mine, DType::f64)}, mesh, "x", Reduction::sum)[0]);
      rounds.steps[rank].fetch_add(1);
      if (sums[999] > 6) return;
      require(sums[0] == 6 && sums[999] == 6, "the sum is " + std::to_string(sums[999]));
    } catch (const MemberLost& e) {
      rounds.failures[rank].fetch_add(1);
      require_in(unfolded(e.what()), "died");
      await_at_least(rounds.joined, Rounds::world + rounds.kills);
    }
  }
}

void kill_and_start_again(Job& job, Rounds& rounds, int times, const std::function<void(int victim)>& before_the_kill) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int failures[Rounds::world] = {};
  for (int round = 0; round < times; ++round) {
    int before[Rounds::world];
    for (int rank = 0; rank < Rounds::world; ++rank) before[rank] = rounds.steps[rank];
    const auto until = Clock::now() + 60s;
    for (int rank = 0; rank < Rounds::world; ++rank) {
      while (rounds.steps[rank] < before[rank] + 2) ASSERT_LT(Clock::now(), until) << "rank " << rank << ", round " << round;
    }
    const auto at = Clock::now() + std::chrono::microseconds(random() % 20'000);
    while (Clock::now() < at) {}
    const int victim = static_cast<int>(random() % Rounds::world);
    rounds.kills.fetch_add(1);
    if (before_the_kill) before_the_kill(victim);
    job.signal(victim, SIGKILL);
    EXPECT_NE(job.status(victim), 0);
    job.start(victim);
    for (int rank = 0; rank < Rounds::world; ++rank) failures[rank] += rank != victim ? 1 : 0;
  }
  await_at_least(rounds.joined, Rounds::world + times);
  rounds.is_last = 1;
  job.expect_success();
  for (int rank = 0; rank < Rounds::world; ++rank)
    EXPECT_EQ(rounds.failures[rank], failures[rank]) << "a loss is told once, rank " << rank;
}

}  // namespace tutti::testing_processes
