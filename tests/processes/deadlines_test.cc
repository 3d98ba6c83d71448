// The deadline of a call is the deadline of everything it does: joining, sharing memory, asking for a report.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "processes/job.h"
#include "processes/slow_link.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

// The process stops where it would make memory for others.
bool stops_before_sharing = false;

}  // namespace

}  // namespace tutti

// Instead of the C library's, in this program.
extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  if (tutti::stops_before_sharing) ::raise(SIGSTOP);
  return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
}

namespace tutti {

namespace {

using namespace testing_processes;

Mesh mesh_of_all() {
  simulate_gpus(1);
  return create_distributed_mesh({{"x", -1}}, {"GPU:0"});
}

}  // namespace

TEST(ADeadline, IsKeptWhereNobodyIsTheCoordinator) {
  Job job(2, [](int) {
    ::setenv("TUTTI_COORDINATOR", "127.0.0.1:1", 1);
    const Mesh mesh = mesh_of_all();
    (void)thrown_by<DeadlineExceeded>([&] { barrier(mesh, {.timeout = 500ms}); }, 500ms + slack);
  });
  job.expect_success();
}

TEST(ADeadline, IsKeptInMemoryWhereTheCoordinatorStandsStill) {
  const Witness<Board> board;
  Job job(3, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    for (int i = 0; i < 3; ++i) barrier(mesh, {.timeout = 30s});
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);
    if (rank != 1) {
      const std::string what = thrown_by<BarrierTimeout>([&] { barrier(mesh, {.name = "save", .timeout = 1s}); }, 1s + slack);
      require_in(what, "barrier 'save' of world: 2 of 3 came within 1");
      require_in(what, "the coordinator did not answer, so this is what rank " + std::to_string(rank) + " saw");
      require_in(what, "rank 1: not arrived");
      for (const char* other : {"rank 0:", "rank 2:"}) require_not_in(what, other);
      board->count.fetch_add(1);
    }
    await_at_least(board->stage, 2);
    barrier(mesh, {.name = "save", .timeout = 30s});
  });
  await_at_least(board->count, 3);
  job.signal_coordinator(SIGSTOP);
  board->stage = 1;
  await_at_least(board->count, 5);
  job.signal_coordinator(SIGCONT);
  board->stage = 2;
  job.expect_success();
}

TEST(ADeadline, IsKeptWhereOneStopsWhileMemoryIsShared) {
  const Witness<Board> board;
  Job job(3, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    if (rank == 0) {
      stops_before_sharing = true;
      barrier(mesh, {.timeout = 1s});  // all have met
      stops_before_sharing = false;
    } else {
      const auto begin = Clock::now();
      barrier(mesh, {.timeout = 1s});
      require(Clock::now() - begin < 1s + slack, "it took too long");
      require_in(thrown_by<BarrierTimeout>([&] { barrier(mesh, {.timeout = 200ms}); }, 200ms + slack), "rank 0 (");
      board->count.fetch_add(1);
    }
    for (int i = 0; i < 3; ++i) barrier(mesh, {.timeout = 30s});
  });
  await_at_least(board->count, 2);
  job.signal(0, SIGCONT);
  job.expect_success();
}

TEST(ASlowLink, DelaysTheFirstMeetingsAndNoMore) {
  Job job(2, [](int rank) {
    const SlowLink link(std::getenv("TUTTI_COORDINATOR"), 60ms);
    ::setenv("TUTTI_COORDINATOR", link.address().c_str(), 1);
    const Mesh mesh = mesh_of_all();
    for (int i = 0; i < 3; ++i) barrier(mesh, {.timeout = 10s});
    const Tensor sum = all_reduce({full({4}, rank + 1.0)}, mesh, "x", Reduction::sum)[0];
    require(read<double>(cast(sum, DType::f64))[3] == 3, "the sum is right");
  });
  job.expect_success();
}

}  // namespace tutti
