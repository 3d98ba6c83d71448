// A barrier over processes: all work before it is done everywhere, or everyone who came is told who is missing.
#include "tutti/mesh/barrier.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "processes/job.h"
#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

// One simulated GPU for each process.
Mesh mesh_of_all() {
  simulate_gpus(1);
  join_job({.heartbeat = 50ms, .dead_after = is_sanitized() ? 20s : 5s});
  return create_distributed_mesh({{"batch", -1}}, {"GPU:0"});
}

// A kernel that adds one to a count that all processes see.
Tensor count_when_run(std::atomic<int>& count) {
  static const Kernel add = [](const KernelCall& call, KernelContext&) {
    call.attributes->as<std::atomic<int>*>()->fetch_add(1);
    *call.out().as<float>() = 1;
  };
  static const Infer infer = [](Inference& in) { in.output(DType::f32, Shape{}); };
  static const OpRow& row = register_op({.name = "TestCount", .infer = infer}, {.sim = add});
  return call_op(row, std::vector<Tensor>{}, Attributes(&count)).at(0);
}

class BarrierOf : public testing::TestWithParam<int> {};

}  // namespace

TEST_P(BarrierOf, ReturnsWhenAllWorkBeforeItIsDoneEverywhere) {
  const int world = GetParam();
  const int times = is_sanitized() ? 50 : 1000;
  const Witness<Board> board;
  Job job(world, [&](int) {
    const Mesh mesh = mesh_of_all();
    const DeviceScope on("GPU:0");
    for (int i = 1; i <= times; ++i) {
      (void)count_when_run(board->count);
      barrier(mesh, {.name = "step"});
      const int seen = board->count.load();
      require(seen >= world * i, std::to_string(seen) + " of " + std::to_string(world * i) + " had run");
      require(seen <= world * (i + 1), "someone was let go on before all had come");
    }
  });
  job.expect_success();
}

TEST_P(BarrierOf, NamesTheOneThatIsLateOnEveryOtherAndCanBeTriedAgain) {
  const int world = GetParam();
  const Witness<Board> board;
  Job job(world, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    barrier(mesh, {.name = "first"});
    if (rank == 0) {
      board->count.fetch_add(1);
      await_at_least(board->stage, 1);  // the others' deadline has passed
      barrier(mesh, {.name = "second", .timeout = 20s});
      return;
    }
    const std::string what =
        thrown_by<BarrierTimeout>([&] { barrier(mesh, {.name = "second", .timeout = 300ms}); }, 300ms + slack);
    require_in(what, "barrier 'second'");
    require_in(what, "of " + std::to_string(world) + " came within 3");  // 300 ms, or a moment more
    require_in(what, "rank 0");
    for (int other = 1; other < world; ++other) require_not_in(what, "rank " + std::to_string(other) + " ");
    if (board->count.fetch_add(1) == world - 1) board->stage = 1;
    barrier(mesh, {.name = "second", .timeout = 20s});
  });
  job.expect_success();
}

TEST_P(BarrierOf, NamesTheOneThatWasStoppedOnEverySurvivor) {
  const int world = GetParam();
  for (const int victim : {0, world - 1}) {
    const Witness<Board> board;
    Job job(world, [&](int rank) {
      const Mesh mesh = mesh_of_all();
      barrier(mesh);
      if (rank == victim) {
        ::raise(SIGSTOP);
        return;
      }
      const std::string what = thrown_by<BarrierTimeout>([&] { barrier(mesh, {.timeout = 300ms}); }, 300ms + slack);
      require_in(what, "rank " + std::to_string(victim) + " ");
      require_in(what, "not arrived");
    });
    for (int rank = 0; rank < world; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(job.status(rank), 0) << rank;
    }
  }
}

TEST_P(BarrierOf, NamesTheOneThatDiesAtOnce) {
  const int world = GetParam();
  const int victim = world / 2;
  const Witness<Board> board;
  Job job(world, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    barrier(mesh);
    if (rank == victim) {
      board->stage = 1;
      for (;;) ::pause();
    }
    const std::string what = thrown_by<MemberLost>([&] { barrier(mesh, {.name = "last", .timeout = 30s}); }, 10s);
    require_in(what, "rank " + std::to_string(victim) + " ");
    require_in(what, "died");
  });
  await_at_least(board->stage, 1);
  job.signal(victim, SIGKILL);
  for (int rank = 0; rank < world; ++rank) EXPECT_EQ(job.status(rank), rank == victim ? -SIGKILL : 0) << rank;
}

TEST_P(BarrierOf, NamesTheOneThatEndedWithoutComingAlsoWithoutADeadline) {
  const int world = GetParam();
  for (const bool has_gone_first : {true, false}) {
    const Witness<Board> board;
    Job job(world, [&](int rank) {
      const Mesh mesh = mesh_of_all();
      barrier(mesh);
      if (rank == 0) {
        if (!has_gone_first) await_at_least(board->count, world - 1);
        return;
      }
      if (has_gone_first) await_at_least(board->stage, 1);
      board->count.fetch_add(1);
      const std::string what = thrown_by<MemberLost>([&] { barrier(mesh, {.name = "last"}); }, 20s);
      require_in(what, "rank 0 ");
      require_in(what, "left");
      for (int other = 1; other < world; ++other) require_not_in(what, "rank " + std::to_string(other) + " ");
    });
    EXPECT_EQ(job.status(0), 0);
    board->stage = 1;
    job.expect_success();
  }
}

TEST_P(BarrierOf, TellsEveryoneWhyTheJobWasAborted) {
  const int world = GetParam();
  const Witness<Board> board;
  Job job(world, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    barrier(mesh);
    if (rank == 0) {
      await_at_least(board->count, world - 1);
      abort_job("the disk is full");
      return;
    }
    board->count.fetch_add(1);
    for (int i = 0; i < 2; ++i)  // what is pending, and what comes later
      require_in(thrown_by<JobAborted>([&] { barrier(mesh); }, 20s), "the disk is full");
  });
  job.expect_success();
}

TEST_P(BarrierOf, NamesWhoWasNeverStarted) {
  const int world = GetParam();
  Job job(world,
          [&](int) {
            const Mesh mesh = mesh_of_all();
            const std::string what = thrown_by<BarrierTimeout>([&] { barrier(mesh, {.timeout = 500ms}); }, 500ms + slack);
            require_in(what, "rank " + std::to_string(world - 1));
            require_in(what, "never connected");
          },
          {world - 1});
  job.expect_success();
}

TEST_P(BarrierOf, TellsWhoStillDrainsFromWhoHasNotCome) {
  const int world = GetParam();
  const Witness<Board> board;
  Job job(world, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    barrier(mesh);
    testing_streams::Gate gate;
    if (rank == 0) (void)gate.close("GPU:0");
    const std::string what = thrown_by<BarrierTimeout>([&] { barrier(mesh, {.timeout = 400ms}); }, 400ms + slack);
    require_in(what, "rank 0 ");
    require_in(what, "its devices still work");
    require_in(what, "TestGate");
    board->count.fetch_add(1);
    await_at_least(board->count, world);
    gate.open();
    barrier(mesh, {.timeout = 20s});
  });
  job.expect_success();
}

TEST_P(BarrierOf, PrintsBothSidesWhereNamesDiffer) {
  const int world = GetParam();
  Job job(world, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    for (int i = 0; i < 2; ++i) {  // at the coordinator, then in shared memory
      const std::string what =
          thrown_by<MeetingMismatch>([&] { barrier(mesh, {.name = rank == 0 ? "save" : "load", .timeout = 20s}); }, 10s);
      require_in(what, "'save'");
      require_in(what, "'load'");
      barrier(mesh, {.name = "together", .timeout = 20s});
    }
  });
  job.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Processes, BarrierOf, testing::Values(2, 4, 8), testing::PrintToStringParamName());

TEST(ProcessBarrier, IsOnePassageOfTheDoor) {
  Job job(2, [&](int) {
    const Mesh mesh = mesh_of_all();
    barrier(mesh);
    (void)ones({1000});
    const auto before = sync_counts().demand;
    barrier(mesh);
    require(sync_counts().demand == before + 1, "one demand sync");
    const SyncScope strict(OnSync::error);
    (void)thrown_by<SyncForbidden>([&] { barrier(mesh); }, 10s);
    const AllowSync once("the end");
    barrier(mesh, {.timeout = 20s});
  });
  job.expect_success();
}

TEST(ProcessBarrier, OfASubMeshInvolvesOnlyItsProcesses) {
  const Witness<Board> board;
  Job job(4, [&](int rank) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", 2}, {"y", 2}}, {"GPU:0"});
    const Mesh row = mesh.sub_mesh({{"x", rank / 2}});
    if (rank < 2) {
      barrier(row, {.timeout = 20s});
      barrier(row, {.timeout = 20s});
      board->stage = 1;
    } else {
      await_at_least(board->stage, 1);  // the other row needed none of these
    }
    barrier(mesh, {.timeout = 20s});
  });
  job.expect_success();
}

TEST(ProcessBarrier, FindsTwoThatWaitForEachOtherWithoutWaitingForTheTimeout) {
  Job job(2, [&](int rank) {
    simulate_gpus(2);
    const Mesh one = create_distributed_mesh({{"x", 2}}, {"GPU:0"});
    const Mesh other = create_distributed_mesh({{"x", 2}}, {"GPU:1"});
    barrier(one, {.timeout = 20s});
    // The same processes: what differs is the name.
    (void)thrown_by<MeetingMismatch>([&] { barrier(rank == 0 ? one : other, {.name = rank == 0 ? "a" : "b", .timeout = 30s}); },
                                     10s);
  });
  job.expect_success();
}

TEST(ProcessBarrier, FindsACircleOfThreeMeshes) {
  Job job(3, [&](int rank) {
    const Mesh all = mesh_of_all();
    barrier(all, {.timeout = 20s});
    // 0 and 1, 1 and 2, 2 and 0: each begins with the one it shares with the next.
    const auto pair = [&](int a, int b) {
      const std::string low = std::to_string(std::min(a, b));
      const std::string high = std::to_string(std::max(a, b));
      return parse_mesh("|x=2|/task:" + low + "/device:GPU:0,/task:" + high + "/device:GPU:0");
    };
    const Mesh with_next = pair(rank, (rank + 1) % 3);
    const std::string what = thrown_by<MeetingDeadlock>([&] { barrier(with_next, {.name = "ring", .timeout = 60s}); }, 20s);
    require_in(what, "rank");
  });
  job.expect_success();
}

TEST(ProcessBarrier, FindsACircleInSharedMemoryAndTellsAllOfItTheSameWay) {
  constexpr int times = is_sanitized() ? 2 : 8;
  const Witness<Board> board;
  Job job(4, [&](int rank) {
    const Mesh all = mesh_of_all();
    const Mesh rows = create_distributed_mesh({{"x", 2}, {"y", 2}}, {"GPU:0"});
    const Mesh row = rows.sub_mesh({{"x", rank / 2}});
    const auto diagonal = [&] {
      const std::string members =
          rank == 0 || rank == 3 ? "/task:0/device:GPU:0,/task:3/device:GPU:0" : "/task:1/device:GPU:0,/task:2/device:GPU:0";
      return parse_mesh("|x=2|" + members);
    };
    const Mesh across = diagonal();
    for (int i = 0; i < 2; ++i) {  // from the second on in shared memory
      barrier(all, {.timeout = 20s});
      barrier(row, {.timeout = 20s});
      barrier(across, {.timeout = 20s});
    }
    for (int i = 0; i < times; ++i) {
      // 0 waits for 1, 1 for 2, 2 for 3 and 3 for 0. Who hears of it ends it for the other of his meeting.
      const Mesh& mine = rank % 2 == 0 ? row : across;
      const std::string what = thrown_by<MeetingDeadlock>([&] { barrier(mine, {.name = "ring", .timeout = 60s}); }, 20s);
      for (int other = 0; other < 4; ++other) require_in(what, "rank " + std::to_string(other) + " waits at");
      barrier(all, {.timeout = 20s});
    }
  });
  job.expect_success();
}

TEST(ProcessBarrier, ThrowsAFailureThatNoReadHasThrownAndNoOther) {
  Job job(2, [](int) {
    const Mesh mesh = mesh_of_all();
    const DeviceScope on("GPU:0");
    const auto spoiled = [] { return take(ones({2}), constant({std::int64_t{9}})); };
    const Tensor was_read = spoiled();
    try {
      (void)read<float>(was_read);
      require(false, "it was read");
    } catch (const KernelFailed&) {}
    barrier(mesh, {.name = "told", .timeout = 60s});
    const Tensor was_not_read = spoiled();
    const std::string what = thrown_by<KernelFailed>([&] { barrier(mesh, {.name = "news", .timeout = 60s}); }, 60s);
    require_in(what, "op take on");
    barrier(mesh, {.name = "told again", .timeout = 60s});
  });
  job.expect_success();
}

}  // namespace tutti
