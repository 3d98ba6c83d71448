// tt::bench tells enqueueing, device time and both apart, and notices a function that syncs.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

TEST(Bench, GivesThreeTimesInOrderAndCountsNoSyncs) {
  simulate_gpus(1);
  const Tensor a = uniform({128, 128});
  const BenchResult result = bench([&] { const Tensor c = matmul(a, a); }, {.samples = 5, .calls_per_sample = 20});
  EXPECT_EQ(result.samples, 5);
  EXPECT_GT(result.host_enqueue.median, 0);
  EXPECT_GT(result.device.median, 0);
  EXPECT_GE(result.end_to_end.median, result.host_enqueue.median);
  EXPECT_LE(result.end_to_end.p10, result.end_to_end.p90);
  EXPECT_EQ(result.syncs_per_call, 0);
  EXPECT_EQ(result.to_string().find("syncs"), std::string::npos);
}

TEST(Bench, SaysSoWhenTheFunctionItselfSyncs) {
  simulate_gpus(1);
  const Tensor a = uniform({16});
  const BenchResult result = bench([&] { (void)item<float>(sum(a)); }, {.samples = 3, .calls_per_sample = 4});
  EXPECT_EQ(result.syncs_per_call, 1);
  EXPECT_NE(result.to_string().find("syncs"), std::string::npos);
}

TEST(Bench, RefusesNoSamples) {
  EXPECT_THROW(bench([] {}, {.samples = 0}), InvalidArgument);
}

}  // namespace
}  // namespace tutti
