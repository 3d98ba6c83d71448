// Processes of one host that may share no memory: barriers are the coordinator's, tensors go through sockets, encrypted
// unless all say otherwise.
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

TEST_F(WithoutSharedMemory, AndWithoutEncryptionWhereAllSaySo) {
  ::setenv("TUTTI_ENCRYPT", "0", 1);
  Job(3, [](int) { require(reduced(everyone()) == std::vector<float>(3, 3.0F), "the sum is wrong"); }).expect_success();
}

TEST_F(WithoutSharedMemory, TheySayWhereSomeEncryptAndOthersDoNot) {
  Job(3, [](int rank) {
    if (rank == 1) ::setenv("TUTTI_ENCRYPT", "0", 1);
    const Mesh mesh = everyone();
    require_in(thrown_by<Error>([&] { reduced(mesh); }, 20s), "set TUTTI_ENCRYPT to the same for all");
    clear_errors();
    barrier(mesh, {.name = "after it", .timeout = 20s});
  }).expect_success();
}

}  // namespace

}  // namespace tutti
