// Collectives between GPUs give what one process would work out, to the last bit, as those of the other engines do.
#include <gtest/gtest.h>

#include <random>

#include "engines/exchange_checks.h"
#include "nccl/gpu_processes.h"
#include "nccl/host_view.h"

namespace tutti::testing_nccl {

class NcclCollectives : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(Exchange&)>& body) {
    Processes processes(GetParam(), [&](int index) {
      take_a_host_of_its_own(index);
      const auto exchange = open_on_gpu(board_, "exchange", GetParam(), index);
      HostView view(*exchange);
      body(view);
    });
    processes.expect_success();
  }

 private:
  Blackboard board_;
};
// With three, the order of the members shows in a sum.
INSTANTIATE_TEST_SUITE_P(Members, NcclCollectives, testing::Values(1, 2, 3), testing::PrintToStringParamName());

TEST_P(NcclCollectives, ReduceEveryDtypeToTheLastBit) {
  TUTTI_NEED_GPU_AND_NCCL();
  run(testing_engines::check_reductions);
}

TEST_P(NcclCollectives, MoveBytesWhereTheyBelong) {
  TUTTI_NEED_GPU_AND_NCCL();
  run(testing_engines::check_movements);
}

TEST_P(NcclCollectives, FollowEachOtherInAnyOrder) {
  TUTTI_NEED_GPU_AND_NCCL();
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  run([&](Exchange& exchange) { testing_engines::check_sequence(exchange, 60, seed); });
}

TEST_P(NcclCollectives, LetANanWinAndKeepTheFirstOfEqualZeros) {
  TUTTI_NEED_GPU_AND_NCCL();
  run(testing_engines::check_nans_and_zeros);
}

TEST_P(NcclCollectives, RefuseWhatTheOpsRefuse) {
  TUTTI_NEED_GPU_AND_NCCL();
  run(testing_engines::check_refusals);
}

}  // namespace tutti::testing_nccl
