// Links as they are between sites: far, lossy, silent for a while. What is right in one rack is right there, only later.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "hosts/hosts.h"
#include "tutti/mesh/barrier.h"
#include "tutti/mesh/collectives.h"

namespace tutti {

namespace {

using namespace testing_hosts;

class HostsLinks : public Hosts {
 protected:
  // From the first call that meets the others.
  void expect_first_barrier_within(std::chrono::milliseconds longest) const {
    Job job = start_unmet(not_soon, [&](int, const Mesh& mesh) {
      const auto begin = Clock::now();
      barrier(mesh, {.name = "first", .timeout = 5s});
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
      require(took <= longest, "it took " + std::to_string(took.count()) + " ms");
      barrier(mesh, {.name = "second", .timeout = 5s});
    });
    for (int rank = 0; rank < world; ++rank) EXPECT_EQ(job.status(rank, 20s), 0) << "rank " << rank;
  }
};

}  // namespace

TEST_F(HostsLinks, OfAnyLengthAreMetOverWellWithinTheDeadline) {
  for (const auto round_trip : {60ms, 100ms, 200ms}) {
    SCOPED_TRACE(std::to_string(round_trip.count()) + " ms");
    set_round_trip(round_trip);
    expect_first_barrier_within(2500ms + slack);
  }
}

TEST_F(HostsLinks, ThatLoseOnePacketInAHundredAreMetOverWithinTheDeadline) {
  for (const auto round_trip : {60ms, 100ms, 200ms}) {
    SCOPED_TRACE(std::to_string(round_trip.count()) + " ms");
    set_round_trip(round_trip, 0.01);
    expect_first_barrier_within(5s);
  }
}

TEST_F(HostsLinks, ThatAreFarAndLossyCarryTheRightSums) {
  set_round_trip(40ms, 0.01);
  Job job = start(not_soon, [&](int rank, const Mesh& mesh) {
    for (const std::int64_t count : {1, 1000, 300'001, 7}) require_sum(summed(mesh, rank, count));
  });
  for (int rank = 0; rank < world; ++rank) EXPECT_EQ(job.status(rank, 60s), 0) << "rank " << rank;
}

TEST_F(HostsLinks, ThatPauseForLessThanADeathTakesChangeNothing) {
  constexpr int times = 4;
  set_round_trip(10ms);
  const Witness<Board> board;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    for (;;) {
      barrier(mesh, {.name = "step", .timeout = 10s});
      require_sum(summed(mesh, rank, 10'001));
      barrier(mesh, {.name = "who goes on", .timeout = 10s});
      if (rank == 0) board->others[0] = board->stage.load();
      barrier(mesh, {.name = "all or none", .timeout = 10s});
      if (board->others[0].load() == times) break;
    }
  });
  await_at_least(board->count, world);
  for (const int host : {2, coordinator_host, 0, 1}) {
    network().pause(host);
    let_pass(soon / 2);
    network().resume(host);
    let_pass(100ms);
    board->stage.fetch_add(1);
  }
  for (int rank = 0; rank < world; ++rank) EXPECT_EQ(job.status(rank, 20s), 0) << "rank " << rank;
}

TEST_F(HostsLinks, ThatAreFarAndCutForLongerThanADeathTakesAreReportedToAllWhoCame) {
  set_round_trip(100ms);
  const Witness<Board> board;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);
    const auto meet = [&] { barrier(mesh, {.name = "save", .timeout = 5s}); };
    if (rank == 2) {
      require_in(thrown_by<CoordinatorLost>(meet, soon + slack), "nothing was heard of it for");
      return;
    }
    const std::string what = thrown_by<MemberLost>(meet, soon + slack);
    require_in(what, "rank 2 (host2, pid ");
    require_in(what, "nothing was heard of it for");
    for (int other = 0; other < 2; ++other) require_not_in(what, "rank " + std::to_string(other) + " ");
  });
  await_at_least(board->count, world);
  network().cut(2);
  board->stage = 1;
  for (int rank = 0; rank < world; ++rank) EXPECT_EQ(job.status(rank, 20s), 0) << "rank " << rank;
}

TEST_F(HostsLinks, ThatAreFarKeepNobodyBeyondTheDeadlineOfAFirstBarrierToWhichOneNeverComes) {
  set_round_trip(100ms);
  const auto meet_without_rank_2 = [](const Mesh& mesh, const std::string& how) {
    const std::string what = thrown_by<BarrierTimeout>([&] { barrier(mesh, {.name = "save", .timeout = 1s}); }, 1s + slack);
    require_in(what, "barrier 'save' of world: 2 of 3 came");
    require_in(what, "rank 2");
    require_in(what, how);
    for (int other = 0; other < 2; ++other) require_not_in(what, "rank " + std::to_string(other) + " ");
  };
  {
    Job job = start_unmet(not_soon, [&](int, const Mesh& mesh) { meet_without_rank_2(mesh, "never connected"); }, {2});
    for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(job.status(rank, 20s), 0) << "rank " << rank;
  }
  const Witness<Board> board;
  Job job = start_unmet(not_soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->count, world);
    if (rank != 2) meet_without_rank_2(mesh, "(host2, pid ");
    board->stage.fetch_add(1);
    await_at_least(board->stage, world);
  });
  for (int rank = 0; rank < world; ++rank) EXPECT_EQ(job.status(rank, 20s), 0) << "rank " << rank;
}

}  // namespace tutti
