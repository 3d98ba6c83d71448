// A barrier over hosts whose links fail: it ends for everyone, also for who is cut off, and says who is missing.
#include "tutti/mesh/barrier.h"

#include <gtest/gtest.h>

#include <string>

#include "hosts/hosts.h"

namespace tutti {

namespace {

using namespace testing_hosts;

class HostsBarrier : public Hosts {};

}  // namespace

TEST_F(HostsBarrier, NamesTheHostThatIsCutOffByTheDeadlineAndCanBeTriedAgainWhenItIsBack) {
  const Witness<Board> board;
  Job job = start(not_soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);  // host 2 is cut off
    const auto meet = [&] { barrier(mesh, {.name = "save", .timeout = 500ms}); };
    if (rank == 2) {
      // It gives the coordinator's answer some time.
      require_in(thrown_by<CoordinatorLost>(meet, 500ms + 2 * slack), "did not answer by the deadline");
    } else {
      const std::string what = thrown_by<BarrierTimeout>(meet, 500ms + slack);
      require_in(what, "barrier 'save'");
      require_in(what, "rank 2 (host2, pid ");
      require_in(what, "not arrived");
      for (int other = 0; other < 2; ++other) require_not_in(what, "rank " + std::to_string(other) + " ");
    }
    board->count.fetch_add(1);
    await_at_least(board->stage, 2);  // it is back
    barrier(mesh, {.name = "save", .timeout = 20s});
  });
  await_at_least(board->count, world);
  network().cut(2);
  board->stage = 1;
  await_at_least(board->count, 2 * world);
  network().heal(2);
  board->stage = 2;
  job.expect_success();
}

TEST_F(HostsBarrier, OfWhichAHostThatWasCutOffSaysItsNameTooLateDisagreesWithNothing) {
  const Witness<Board> board;
  Job job = start(not_soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);  // host 2 is cut off
    if (rank == 2) {
      const auto meet = [&] { barrier(mesh, {.name = "save", .timeout = 300ms}); };
      require_in(thrown_by<CoordinatorLost>(meet, 300ms + 2 * slack), "did not answer by the deadline");
      board->count.fetch_add(1);
      await_at_least(board->stage, 2);  // it is back, and what it said then arrives now
    } else {
      (void)thrown_by<BarrierTimeout>([&] { barrier(mesh, {.name = "save", .timeout = 300ms}); }, 300ms + slack);
      board->count.fetch_add(1);
    }
    barrier(mesh, {.name = "next", .timeout = 20s});
  });
  await_at_least(board->count, world);
  network().cut(2);
  board->stage = 1;
  await_at_least(board->count, 2 * world);
  let_pass(200ms);  // the others wait at the next by now
  network().heal(2);
  board->stage = 2;
  job.expect_success();
}

TEST_F(HostsBarrier, KnowsAHostThatIsSilentForTooLongBeforeTheDeadlineAndTheHostKnowsItToo) {
  const Witness<Board> board;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);
    const auto meet = [&] { barrier(mesh, {.name = "save", .timeout = 60s}); };
    if (rank == 2) {
      require_in(thrown_by<CoordinatorLost>(meet, soon + slack), "nothing was heard of it for");
      return;
    }
    const std::string what = thrown_by<MemberLost>(meet, soon + slack);
    require_in(what, "rank 2 (host2, pid ");
    require_in(what, "nothing was heard of it for");
  });
  await_at_least(board->count, world);
  network().cut(2);
  board->stage = 1;
  job.expect_success();
}

TEST_F(HostsBarrier, CompletesWhenALinkThatWasCutInTheMiddleOfItIsBackInTime) {
  const Witness<Board> board;
  Job job = start(not_soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    if (rank == 2) {
      await_at_least(board->stage, 1);  // cut off before it comes, and after it has heard that all are here
      board->count.fetch_add(1);
    }
    barrier(mesh, {.name = "save", .timeout = 20s});
    require(board->stage.load() == 2, "someone was let go while one was cut off");
    barrier(mesh, {.name = "next", .timeout = 20s});
  });
  await_at_least(board->count, world);
  network().cut(2);
  board->stage = 1;
  await_at_least(board->count, world + 1);
  let_pass(400ms);
  board->stage = 2;
  network().heal(2);
  job.expect_success();
}

TEST_F(HostsBarrier, EndsForAllWhenTheCoordinatorsHostIsCutOff) {
  const Witness<Board> board;
  Job job = start(soon, [&](int, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);
    for (int i = 0; i < 2; ++i) {  // and at once from then on
      const auto meet = [&] { barrier(mesh, {.name = "save", .timeout = 60s}); };
      const std::string what = thrown_by<CoordinatorLost>(meet, i == 0 ? soon + slack : slack);
      require_in(what, "the coordinator at " + Network::address(coordinator_host));
    }
    require(item<float>(sum(ones({10}))) == 10, "what needs no other process works on");
  });
  await_at_least(board->count, world);
  network().cut(coordinator_host);
  board->stage = 1;
  job.expect_success();
}

}  // namespace tutti
