// Processes of one host that may share no memory: barriers are the coordinator's, tensors go through gloo's sockets, and a build
// without gloo says what is missing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "processes/job.h"
#include "tutti/mesh/engines/gloo_exchange.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

class WithoutSharedMemory : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TUTTI_SHARED_MEMORY", "0", 1); }

  static Mesh everyone() {
    simulate_gpus(1);
    return create_distributed_mesh({{"x", -1}}, {"GPU:0"});
  }
  static std::vector<float> reduced(const Mesh& mesh) {
    return read<float>(all_reduce({ones({3})}, mesh, {"x"}, Reduction::sum)[0]);
  }
};

TEST_F(WithoutSharedMemory, CollectivesGoThroughSockets) {
  if (!has_gloo()) GTEST_SKIP() << "this build has no gloo";
  Job(3, [](int) { require(reduced(everyone()) == std::vector<float>(3, 3.0F), "the sum is wrong"); }).expect_success();
}

TEST_F(WithoutSharedMemory, CollectivesSayThatGlooIsMissing) {
  if (has_gloo()) GTEST_SKIP() << "this build has gloo; configure with TUTTI_GLOO=OFF to run this";
  Job(3, [](int) {
    const Mesh mesh = everyone();
    const std::string why = thrown_by<Error>([&] { reduced(mesh); }, 20s);
    require_in(why,
               "gloo, which this build of tutti was made without: install libgloo-dev (Debian) and build with TUTTI_GLOO=ON");
    clear_errors();
    barrier(mesh, {.name = "after it", .timeout = 20s});
  }).expect_success();
}

}  // namespace

}  // namespace tutti
