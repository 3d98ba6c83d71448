// A process that waits at a barrier uses no core.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/resource.h>

#include <string>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

std::chrono::microseconds used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) { return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec); };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

class Waiting : public testing::TestWithParam<bool> {};

}  // namespace

TEST_P(Waiting, AtABarrierUsesNoCore) {
  ::setenv("TUTTI_SHARED_MEMORY", GetParam() ? "1" : "0", 1);
  constexpr auto away = 300ms;
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    barrier(mesh, {.timeout = 20s});  // makes what is made once
    if (rank == 1) {
      await_at_least(board->stage, 1);
      ::poll(nullptr, 0, static_cast<int>(away.count()));
      return barrier(mesh, {.timeout = 20s});
    }
    const auto before = used();
    board->stage = 1;
    barrier(mesh, {.timeout = 20s});
    const auto spent = used() - before;
    require(spent < (is_sanitized() ? 60ms : 15ms), "it used " + std::to_string(spent.count()) + " us of 300 ms");
  });
  job.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Processes, Waiting, testing::Bool(),
                         [](const auto& it) { return it.param ? "InSharedMemory" : "ThroughSockets"; });

}  // namespace tutti
