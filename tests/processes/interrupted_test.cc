// A process that is told to end while it waits for others does so; those are told at once, and nothing is left of it.
#include <gtest/gtest.h>

#include <poll.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

enum class Inside : std::uint8_t { barrier, collective, join };

std::set<std::string> in_dev_shm() {
  std::set<std::string> out;
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator("/dev/shm", none)) out.insert(each.path().filename());
  return out;
}

Mesh mesh_of_all() {
  simulate_gpus(1);
  return create_distributed_mesh({{"x", -1}}, {"GPU:0"});
}

void sum_over(const Mesh& mesh) { (void)read<float>(all_reduce({ones({1000})}, mesh, "x", Reduction::sum)[0]); }

class Interrupted : public testing::TestWithParam<std::tuple<Inside, int>> {};

}  // namespace

TEST_P(Interrupted, EndsAndTheOthersAreToldAtOnce) {
  const auto [inside, signal] = GetParam();
  const std::set<std::string> before = in_dev_shm();
  const Witness<Board> board;
  constexpr int victim = 1;
  Job job(3, [&, inside = inside](int rank) {
    if (inside == Inside::join && rank == victim) {
      ::setenv("TUTTI_COORDINATOR", "127.0.0.1:1", 1);  // nobody is there, and it goes on trying
      board->stage = 1;
      return join_job({.connect_timeout = 60s});
    }
    const Mesh mesh = mesh_of_all();
    const auto meet = [&] { inside == Inside::collective ? sum_over(mesh) : barrier(mesh, {.timeout = 60s}); };
    if (inside == Inside::join) {
      require_in(thrown_by<BarrierTimeout>([&] { barrier(mesh, {.timeout = 1s}); }, 1s + slack), "rank 1: never connected");
      return;
    }
    for (int i = 0; i < 2; ++i) meet();
    if (rank == victim) {
      board->stage = 1;
      return meet();  // the one that is awaited never comes
    }
    if (rank == 2) await_at_least(board->stage, 2);
    const std::string what = thrown_by<Error>(meet, 10s);
    require_in(what, "rank 1 (");
    require_in(what, "died");
  });
  await_at_least(board->stage, 1);
  if (inside != Inside::join) ::poll(nullptr, 0, 100);  // it waits by now, for most of the time
  job.signal(victim, signal);
  EXPECT_EQ(job.status(victim), -signal);
  board->stage = 2;
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.status(2), 0);
  EXPECT_EQ(in_dev_shm(), before);
}

INSTANTIATE_TEST_SUITE_P(Processes, Interrupted,
                         testing::Combine(testing::Values(Inside::barrier, Inside::collective, Inside::join),
                                          testing::Values(SIGINT, SIGTERM)),
                         [](const auto& it) {
                           const auto inside = std::get<0>(it.param);
                           const std::string where = inside == Inside::barrier ? "Barrier"
                                                     : inside == Inside::join  ? "Join"
                                                                               : "Collective";
                           return where + (std::get<1>(it.param) == SIGINT ? "Interrupt" : "Terminate");
                         });

// A program that handles signals itself goes on waiting.
TEST(ProcessBarrier, IsNotDisturbedBySignalsThatAreHandled) {
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    struct sigaction handled {};
    handled.sa_handler = [](int) {};  // without SA_RESTART: every wait of the system's is cut short
    ::sigaction(SIGUSR1, &handled, nullptr);
    board->count.fetch_add(1);
    const Mesh mesh = mesh_of_all();
    for (int i = 0; i < 200; ++i) {
      barrier(mesh, {.timeout = 60s});
      if (i % 20 == 0) sum_over(mesh);
    }
    board->others[rank] = 1;
  });
  await_at_least(board->count, 2);
  for (int i = 0; board->others[0] == 0 || board->others[1] == 0; ++i) {
    ASSERT_LT(i, 200'000);
    for (const int rank : {0, 1}) {
      if (board->others[rank] == 0) job.signal(rank, SIGUSR1);
    }
    ::poll(nullptr, 0, i % 10 == 0 ? 1 : 0);
  }
  job.expect_success();
}

}  // namespace tutti
