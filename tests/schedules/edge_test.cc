// Every edge the runtime derives is needed: leave any one out and some schedule gives a wrong value.
#include <gtest/gtest.h>

#include <set>

#include "schedules/programs.h"
#include "schedules/scenario.h"

namespace tutti::schedules {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t random_programs = 2;
#else
constexpr std::uint64_t random_programs = 8;
#endif
constexpr std::uint64_t seeds = 100;

// A lazy seed runs nothing before the host waits, so the edges it derives are the same for all of them.
std::set<Edge> edges_of(const Program& program) {
  const Outcome outcome = run(program, 0);
  EXPECT_TRUE(outcome.is_right) << outcome.complaint;
  return {outcome.edges.begin(), outcome.edges.end()};
}

void expect_every_edge_is_needed(const Program& program, std::size_t at_least) {
  const std::set<Edge> edges = edges_of(program);
  EXPECT_GE(edges.size(), at_least);
  for (const Edge& edge : edges) {
    SCOPED_TRACE("without the edge " + to_string(edge));
    std::optional<std::uint64_t> failing;
    for (std::uint64_t seed = 0; seed < seeds && !failing; ++seed) {
      if (!run(program, seed, edge).is_right) failing = seed;
    }
    ASSERT_TRUE(failing) << "no schedule of " << seeds << " noticed";
    const Outcome first = run(program, *failing, edge);
    for (int again = 0; again < 2; ++again) {
      const Outcome replay = run(program, *failing, edge);
      EXPECT_FALSE(replay.is_right);
      EXPECT_EQ(replay.schedule, first.schedule) << "seed " << *failing << " did not replay its schedule";
      EXPECT_EQ(replay.complaint, first.complaint);
    }
  }
}

void expect_right_on_every_schedule(const Program& program) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Outcome outcome = run(program, seed);
    ASSERT_TRUE(outcome.is_right) << "schedule seed " << seed << ": " << outcome.complaint;
  }
}

#define TUTTI_SCHEDULED(name, program, at_least)                                                 \
  TEST(DerivedEdges, AreAllNeededWhen##name) { expect_every_edge_is_needed(program, at_least); } \
  TEST(DerivedEdges, AreEnoughWhen##name) { expect_right_on_every_schedule(program); }

TUTTI_SCHEDULED(ValuesCrossStreams, values_cross_streams, 3)
TUTTI_SCHEDULED(ValuesCrossDevices, values_cross_devices, 3)
TUTTI_SCHEDULED(MemoryIsReusedAcrossStreams, memory_is_reused_across_streams, 4)
TUTTI_SCHEDULED(GivenAwayMemoryHasReaders, given_away_memory_has_readers, 4)
TUTTI_SCHEDULED(VariablesAreAssignedAcrossStreams, variables_are_assigned_across_streams, 3)
TUTTI_SCHEDULED(UploadsReuseTheirStaging, uploads_reuse_their_staging, 2)
TUTTI_SCHEDULED(LentMemoryIsGivenBack, lent_memory_is_given_back_after_its_last_use, 2)

TEST(DerivedEdges, AreAllNeededInRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= random_programs; ++seed) {
    SCOPED_TRACE("program seed " + std::to_string(seed));
    expect_every_edge_is_needed([seed] { return random_program(seed); }, 5);
    if (HasFatalFailure()) return;
  }
}

TEST(DerivedEdges, AreEnoughInRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("program seed " + std::to_string(seed));
    for (std::uint64_t schedule = 0; schedule < 20; ++schedule) {
      const Outcome outcome = run([seed] { return random_program(seed); }, schedule);
      ASSERT_TRUE(outcome.is_right) << "schedule seed " << schedule << ": " << outcome.complaint;
    }
  }
}

TEST(SteppedSchedules, DifferBetweenSeedsAndRepeatForOne) {
  std::set<std::uint64_t> schedules;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Program program = [] { return random_program(3); };
    const Outcome first = run(program, seed);
    EXPECT_EQ(run(program, seed).schedule, first.schedule);
    schedules.insert(first.schedule);
  }
  EXPECT_GE(schedules.size(), 15U);
}

}  // namespace
}  // namespace tutti::schedules
