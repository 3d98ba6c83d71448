// When a process is killed, the others get one report: the same words, in which nobody is missing but the dead.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

constexpr int world = 4;

struct Said {
  std::atomic<int> begun;
  char text[world][2048];
};

// Whether they meet in shared memory, and what they do together.
class OneReport : public testing::TestWithParam<std::tuple<bool, bool>> {};

}  // namespace

TEST_P(OneReport, IsGivenToAllWhenOneIsKilledAtAnyMoment) {
  const auto [is_shared, is_collective] = GetParam();
  ::setenv("TUTTI_SHARED_MEMORY", is_shared ? "1" : "0", 1);
  const unsigned first = std::random_device()();
  for (unsigned seed = first; seed < first + (is_sanitized() ? 2 : 10); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const int victim = static_cast<int>(random() % world);
    const auto delay = std::chrono::microseconds(random() % 20'000);
    const Witness<Said> said;
    Job job(world, [&](int rank) {
      simulate_gpus(1);
      const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
      for (int i = 0; i < 2; ++i) {
        barrier(mesh, {.timeout = 30s});
        (void)read<float>(all_reduce({ones({1000})}, mesh, "x", Reduction::sum)[0]);
      }
      said->begun.fetch_add(1);
      std::mt19937 own(seed + static_cast<unsigned>(rank));
      try {
        for (;;) {
          // Some are there and some on their way when it happens.
          const auto busy = Clock::now() + std::chrono::microseconds(own() % 2'000);
          while (Clock::now() < busy) {}
          if (is_collective) {
            (void)read<float>(all_reduce({ones({1000})}, mesh, "x", Reduction::sum)[0]);
          } else {
            barrier(mesh, {.name = "step", .timeout = 30s});
          }
        }
      } catch (const MemberLost& e) {
        std::strncpy(said->text[rank], e.what(), sizeof said->text[rank] - 1);
      }
    });
    await_at_least(said->begun, world);
    const auto at = Clock::now() + delay;
    while (Clock::now() < at) {}
    job.signal(victim, SIGKILL);
    std::set<std::string> texts;
    for (int rank = 0; rank < world; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(job.status(rank), 0) << "rank " << rank;
      texts.insert(said->text[rank]);
    }
    ASSERT_EQ(texts.size(), 1U) << *texts.begin() << "\n\nand\n\n" << *texts.rbegin();
    const std::string text = unfolded(*texts.begin());
    EXPECT_NE(text.find("3 of 4 came, and a member is lost; missing: rank " + std::to_string(victim) + " ("), std::string::npos)
        << text;
    for (int rank = 0; rank < world; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(text.find("rank " + std::to_string(rank) + " "), std::string::npos) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, OneReport, testing::Combine(testing::Bool(), testing::Bool()), [](const auto& it) {
  return std::string(std::get<1>(it.param) ? "OfACollective" : "OfABarrier") +
         (std::get<0>(it.param) ? "InSharedMemory" : "AtTheCoordinator");
});

}  // namespace tutti
