// Deaths, stops and delays at random moments: every survivor gets the right report in time, and nothing hangs.
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

enum class Fate : int { late, dies, stops };

// What happens in one run, all from its seed.
struct Script {
  int world;
  int victim;
  int step;  // the barrier before which it happens
  Fate fate;
  bool drains;  // work is on its way when it happens
  int delay_us;

  explicit Script(unsigned seed) {
    std::mt19937 draw(seed);
    const auto below = [&](unsigned n) { return static_cast<int>(draw() % n); };
    world = 2 + below(5);
    victim = below(static_cast<unsigned>(world));
    step = below(4);
    fate = static_cast<Fate>(below(3));
    drains = below(2) == 1;
    delay_us = below(3000);
  }
};

void spend(int microseconds) {
  const auto end = Clock::now() + std::chrono::microseconds(microseconds);
  while (Clock::now() < end) {}
}

void run_rank(const Script& s, int rank) {
  simulate_gpus(1);
  join_job({.heartbeat = 50ms, .dead_after = is_sanitized() ? 20s : 5s});
  const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
  const DeviceScope on("GPU:0");
  for (int step = 0; step < s.step; ++step) {
    (void)(ones({100}) + 1);
    barrier(mesh, {.timeout = 30s});
  }
  if (s.drains) (void)sum(matmul(ones({64, 64}), ones({64, 64})));
  if (rank == s.victim) {
    spend(s.delay_us);
    if (s.fate == Fate::dies) ::raise(SIGKILL);
    if (s.fate == Fate::stops) ::raise(SIGSTOP);
    barrier(mesh, {.timeout = 30s});
    return;
  }
  const std::string victim = "rank " + std::to_string(s.victim) + " ";
  if (s.fate == Fate::late) {
    barrier(mesh, {.timeout = 30s});
  } else if (s.fate == Fate::dies) {
    require_in(thrown_by<MemberLost>([&] { barrier(mesh, {.timeout = 30s}); }, 10s), victim);
  } else {
    require_in(thrown_by<BarrierTimeout>([&] { barrier(mesh, {.timeout = 250ms}); }, 250ms + slack), victim);
  }
}

unsigned seeds_each() {
  const char* more = std::getenv("TUTTI_TEST_SCHEDULES");
  return more != nullptr ? static_cast<unsigned>(std::atoi(more)) / 5 : is_sanitized() ? 2 : 10;
}

// Others than usual, where a run is to find something new.
unsigned first_seed() {
  const char* given = std::getenv("TUTTI_TEST_SEED");
  return given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 0;
}

class Schedules : public testing::TestWithParam<unsigned> {};

}  // namespace

TEST_P(Schedules, EndInTheRightReportForEverySurvivor) {
  for (unsigned i = 0; i < seeds_each(); ++i) {
    const unsigned seed = first_seed() + GetParam() * 1000 + i;
    const Script s(seed);
    Job job(s.world, [&](int rank) { run_rank(s, rank); });
    for (int rank = 0; rank < s.world; ++rank) {
      if (rank == s.victim && s.fate == Fate::stops) continue;
      const int expected = rank == s.victim && s.fate == Fate::dies ? -SIGKILL : 0;
      EXPECT_EQ(job.status(rank), expected) << "rank " << rank << " of seed " << seed << ": world " << s.world << ", victim "
                                            << s.victim << ", step " << s.step << ", fate " << static_cast<int>(s.fate);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Schedules, testing::Values(1U, 2U, 3U, 4U, 5U), testing::PrintToStringParamName());

}  // namespace tutti
