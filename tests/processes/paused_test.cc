// A process that is stopped for a moment is late and nothing else.
#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>
#include <thread>

#include "processes/job.h"
#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

}  // namespace

TEST(AProcessThatIsPaused, JustAsItsBarrierIsReleasedMakesNoDeadlock) {
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    for (int i = 0; i < 2; ++i) {  // from now on in shared memory
      barrier(mesh, {.timeout = 30s});
      (void)read<float>(all_reduce({ones({4})}, mesh, "x", Reduction::sum)[0]);
    }
    for (int i = 1; i <= 2; ++i) {
      // Rank 0 comes at once and has still to drain: the other waits for that.
      testing_streams::Gate gate;
      std::thread opens;
      if (rank == 0) {
        (void)gate.close("GPU:0");
        opens = std::thread([&, i] {
          await_at_least(board->stage, i);
          gate.open();
        });
      }
      board->others[rank] = i;
      barrier(mesh, {.name = "step", .timeout = 30s});
      if (opens.joinable()) opens.join();
      const Tensor sum = all_reduce({ones({4})}, mesh, "x", Reduction::sum)[0];
      if (rank == 0) board->count = i;
      require(read<float>(sum)[0] == 2, "the sum is right");
      barrier(mesh, {.name = "end of step", .timeout = 30s});
    }
  });
  for (int i = 1; i <= 2; ++i) {
    await_at_least(board->others[1], i);
    ::poll(nullptr, 0, 400);  // it waits for so long that it has told so
    job.signal(1, SIGSTOP);
    board->stage = i;
    await_at_least(board->count, i);
    ::poll(nullptr, 0, 700);  // rank 0 waits for it at the next, for longer than a deadlock takes
    job.signal(1, SIGCONT);
  }
  job.expect_success();
}

}  // namespace tutti
