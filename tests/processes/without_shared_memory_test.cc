// Processes of one host that may share no memory: barriers are the coordinator's, tensors go through sockets, encrypted
// unless both ends say otherwise.
#include <gtest/gtest.h>

#include <cstdlib>

#include "processes/job.h"
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
  Job(3, [](int) { require(reduced(everyone()) == std::vector<float>(3, 3.0F), "the sum is wrong"); }).expect_success();
}

TEST_F(WithoutSharedMemory, CollectivesNeedNoEncryptionAndTakeItWhereOneWantsIt) {
  Job(4, [](int rank) {
    ::setenv("TUTTI_ENCRYPT", rank % 3 == 0 ? "0" : "1", 1);  // 0 and 3 without, the other pairs with it
    require(reduced(everyone()) == std::vector<float>(3, 4.0F), "the sum is wrong");
  }).expect_success();
}

}  // namespace

}  // namespace tutti
