// Processes that reach their coordinator by IPv6 exchange tensors through it too.
#include <gtest/gtest.h>

#include <cstdlib>

#include "processes/job.h"
#include "tutti/mesh/wire/sockets.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

}  // namespace

TEST(ProcessCollectives, GoThroughIPv6WhereTheCoordinatorIsReachedByIt) {
  ::setenv("TUTTI_SHARED_MEMORY", "0", 1);
  CoordinatorOptions coordinator;
  coordinator.world = 3;
  coordinator.listen = "[::1]:0";
  try {
    (void)wire::listen_on(coordinator.listen, {});
  } catch (const InvalidState& e) {
    GTEST_SKIP() << "no IPv6 here: " << e.message();
  }
  Job job(coordinator, [&](int rank) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    const Tensor mine = add(ones({1000}), static_cast<float>(rank));
    require(item<float>(sum(all_reduce({mine}, mesh, "x", Reduction::sum)[0])) == 6'000, "the sum is wrong");
  });
  job.expect_success();
}

}  // namespace tutti
