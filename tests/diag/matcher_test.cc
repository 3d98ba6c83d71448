// "This function makes no demand sync" is one line in a user's test, and a failure names the syncs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/diag/sync_matcher.h"
#include "tutti/tutti.h"

namespace tutti {

TEST(SyncMatcher, HoldsForCodeThatEnqueuesOnly) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  EXPECT_THAT([] { (void)read_async<float>(sum(ones({100}))); }, makes_no_demand_sync());
}

TEST(SyncMatcher, CountsAndNamesTheSyncsOfCodeThatReads) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const auto reads = [] {
    (void)item<float>(sum(ones({100})));
    const AllowSync meant("an allowed one is a sync too");
    sync_devices();
  };
  EXPECT_THAT(reads, makes_demand_syncs(2));
  EXPECT_THAT(reads, testing::Not(makes_no_demand_sync()));
  testing::StringMatchResultListener said;
  EXPECT_FALSE(testing::ExplainMatchResult(testing::Matcher<std::function<void()>>(makes_no_demand_sync()), reads, &said));
  EXPECT_THAT(said.str(), testing::HasSubstr("which makes 2 demand syncs"));
  EXPECT_THAT(said.str(), testing::HasSubstr("value read of what sum made at "));
  EXPECT_THAT(said.str(), testing::HasSubstr("all devices sync at "));
}

}  // namespace tutti
