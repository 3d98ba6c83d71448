// In a process of a job too, nothing but the door blocks the host: not joining, not a collective, not a barrier, not leaving.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "door/blocking_calls.h"
#include "processes/job.h"

namespace tutti {

namespace {

using namespace testing_processes;

constexpr int outside_at_exit = 7;
constexpr int no_leave_in_the_ledger = 8;

std::uint64_t outside_before_job = 0;

std::vector<SyncTotals> totals_of(SyncReason reason) {
  std::vector<SyncTotals> out;
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason == reason) out.push_back(each);
  }
  return out;
}

// Runs after the job was left, and before the runtime ends.
void look_at_exit() {
  if (blocking_calls::outside_the_door() != outside_before_job) ::_exit(outside_at_exit);
  if (totals_of(SyncReason::shutdown).empty()) ::_exit(no_leave_in_the_ledger);
}

Mesh mesh_of_all() { return create_distributed_mesh({{"x", -1}}, {"GPU:0"}); }

void start_runtime() {
  simulate_gpus(1);
  list_logical_devices();
  outside_before_job = blocking_calls::outside_the_door();
  std::atexit(look_at_exit);
}

void require_all_inside() {
  const std::uint64_t outside = blocking_calls::outside_the_door() - outside_before_job;
  require(outside == 0, std::to_string(outside) + " calls that block were made outside the door");
}

}  // namespace

TEST(OnlyTheDoor, BlocksAProcessOfAJob) {
  Job job(2, [](int) {
    start_runtime();
    const std::uint64_t before = blocking_calls::of_this_thread();
    const Mesh mesh = mesh_of_all();
    const Tensor mine = ones({3});
    for (int i = 0; i < 20; ++i) {
      const std::vector<Tensor> got = all_reduce({mine}, mesh, "x", Reduction::sum);
      require(read<float>(got[0]) == std::vector<float>(3, 2), "the sum");
      barrier(mesh, {.timeout = 30s});
      barrier(mesh);
    }
    require(blocking_calls::of_this_thread() > before, "calls that block are seen");
    require_all_inside();
  });
  job.expect_success();
}

TEST(OnlyTheDoor, IsPassedOnceToJoinTheJobWithTheFirstCollective) {
  Job job(2, [](int) {
    start_runtime();
    const Mesh mesh = mesh_of_all();
    const SyncScope strict(OnSync::error);  // joining is the runtime's own: no mode forbids it
    const Site site;
    const std::vector<Tensor> got = all_reduce({ones({3})}, mesh, "x", Reduction::sum, site);
    const std::vector<SyncTotals> joining = totals_of(SyncReason::joining);
    require(joining.size() == 1 && joining[0].calls == 1 && joining[0].blocked == 1, "one passage");
    require(joining[0].site.to_string() == site.to_string(), "at the call that needed the job");
    require(!is_demand(SyncReason::joining), "flow");
    const AllowSync reading("to end together");
    (void)read<float>(got[0]);
    require_all_inside();
  });
  job.expect_success();
}

TEST(OnlyTheDoor, IsPassedToJoinTheJobByHand) {
  Job job(2, [](int) {
    start_runtime();
    const Site site;
    join_job({.heartbeat = 50ms}, site);
    const std::vector<SyncTotals> joining = totals_of(SyncReason::joining);
    require(joining.size() == 1 && joining[0].calls == 1, "one passage");
    require(joining[0].site.to_string() == site.to_string(), "at the call");
    require_in(unfolded(sync_report().to_text()), "joining the job");
    require_in(unfolded(sync_report().to_text()), "the process joined its job");
    barrier(mesh_of_all(), {.timeout = 30s});
    require(totals_of(SyncReason::joining).size() == 1, "it is joined once");
    require_all_inside();
  });
  job.expect_success();
}

}  // namespace tutti
