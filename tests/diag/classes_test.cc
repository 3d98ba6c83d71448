// Every class of sync has two programs that differ only in the evidence; without it the class is unknown, with what is missing.
#include <gtest/gtest.h>

#include "tutti/diag/sync_class.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

SyncVerdict verdict_at(Site site) {
  for (const SyncTotals& each : sync_totals()) {
    if (is_demand(each.reason) && each.site == site) return classify(each);  // memory may be mapped there too
  }
  ADD_FAILURE() << "no sync at " << site.to_string();
  return {};
}

#define EXPECT_CLASS(site, expected) \
  EXPECT_STREQ(to_string(verdict_at(site).kind), to_string(expected)) << verdict_at(site).evidence

}  // namespace

TEST(SyncClasses, NoOpWhereNothingWasEverQueued) {
  simulate_gpus(2);
  list_logical_devices();
  const Site idle;
  const Site busy;
  synchronize("GPU:1", {}, idle);
  {
    const DeviceScope on("GPU:1");
    (void)ones({4});
  }
  synchronize("GPU:1", {}, busy);
  EXPECT_CLASS(idle, SyncClass::no_op);
  EXPECT_EQ(verdict_at(idle).fix, "remove it");
  EXPECT_CLASS(busy, SyncClass::unknown);
}

TEST(SyncClasses, NoOpIsNeverSaidOfAWaitThatHasNoPoint) {
  const Site met;
  { const BlockingRegion inside(SyncReason::barrier, met); }
  EXPECT_CLASS(met, SyncClass::unknown);
}

TEST(SyncClasses, RedundantWhereAnEarlierSyncHadReachedThePoint) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Tensor x = ones({4}) + 1;
  const Site first;
  const Site again;
  const Site after_work;
  x.sync({}, first);
  synchronize("GPU:0", {}, again);
  x = x + 1;
  synchronize("GPU:0", {}, after_work);
  EXPECT_CLASS(again, SyncClass::redundant);
  EXPECT_NE(verdict_at(again).evidence.find(first.to_string()), std::string::npos) << verdict_at(again).evidence;
  EXPECT_CLASS(after_work, SyncClass::unknown);
}

TEST(SyncClasses, CoalescibleWhereThePreviousReadCouldHaveBroughtTheValue) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor a = ones({}) + 1;
  const Tensor b = ones({}) + 2;
  const Site first;
  const Site second;
  (void)item<float>(a, first);
  (void)item<float>(b, second);
  EXPECT_CLASS(second, SyncClass::coalescible);
  EXPECT_NE(verdict_at(second).fix.find("read_all"), std::string::npos);
  const Site one;
  const Site dependent;
  const float host = item<float>(a, one);
  (void)item<float>(b * host, dependent);
  EXPECT_CLASS(dependent, SyncClass::unknown);
  EXPECT_NE(verdict_at(dependent).evidence.find("Intent"), std::string::npos) << verdict_at(dependent).evidence;
}

TEST(SyncClasses, DeferrableWhereTheValueIsOnlyShown) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site shown;
  const Site logged;
  const Site used;
  (void)to_string(ones({}) + 1, shown);
  (void)item<float>(ones({}) + 1, Intent::log, logged);
  (void)item<float>(ones({}) + 1, used);
  EXPECT_CLASS(shown, SyncClass::deferrable);
  EXPECT_CLASS(logged, SyncClass::deferrable);
  EXPECT_NE(verdict_at(logged).fix.find("read_async"), std::string::npos);
  EXPECT_CLASS(used, SyncClass::unknown);
}

TEST(SyncClasses, DynamicShapeWhereTheShapeDependsOnData) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site here;
  (void)nonzero(ones({5}), here);
  EXPECT_CLASS(here, SyncClass::dynamic_shape);
  EXPECT_NE(verdict_at(here).fix.find(".size"), std::string::npos);
}

TEST(SyncClasses, ControlFlowWhereTheValueIsReadAsABool) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site decided;
  const Site stated;
  const Site plain;
  (void)item<bool>(sum(ones({3})) > 2, decided);
  (void)item<float>(sum(ones({3})), Intent::branch, stated);
  (void)item<float>(sum(ones({3})), plain);
  EXPECT_CLASS(decided, SyncClass::control_flow);
  EXPECT_CLASS(stated, SyncClass::control_flow);
  EXPECT_CLASS(plain, SyncClass::unknown);
}

TEST(SyncClasses, MeasurementWhereSomethingTimedEnds) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({4});
  const Site timed;
  const Site stated;
  const Site plain;
  (void)bench([&] { (void)(x + 1); }, {.warm_up = 1, .samples = 2, .calls_per_sample = 2}, timed);
  (void)(x + 1);
  synchronize("GPU:0", {.intent = Intent::measure}, stated);
  (void)(x + 1);
  synchronize("GPU:0", {}, plain);
  EXPECT_CLASS(timed, SyncClass::measurement);
  EXPECT_CLASS(stated, SyncClass::measurement);
  EXPECT_CLASS(plain, SyncClass::unknown);
}

TEST(SyncClasses, WarmUpWhereMemoryIsMappedFirst) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  (void)ones({1000});
  bool found = false;
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason != SyncReason::memory_mapping) continue;
    found = true;
    EXPECT_EQ(classify(each).kind, SyncClass::warm_up);
  }
  EXPECT_TRUE(found);
}

TEST(SyncClasses, MixedEvidenceIsUnknownAndSaysWhatWasSeen) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site here;
  (void)item<float>(ones({}) + 1, Intent::log, here);
  (void)item<float>(ones({}) + 1, here);
  EXPECT_CLASS(here, SyncClass::unknown);
  EXPECT_NE(verdict_at(here).evidence.find("1 of 2 calls said \"log\""), std::string::npos) << verdict_at(here).evidence;
}

TEST(SyncClasses, WarmUpEndsWhereMemoryIsGivenBackAndMappedAgainInEveryStep) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site step;
  const Site trim;
  for (int i = 0; i < 30; ++i) {
    (void)zeros({1000}, DType::f32, step);
    sync_devices();
    trim_memory("GPU:0", trim);
  }
  std::uint64_t warm_up = 0;
  std::uint64_t later = 0;
  for (const SyncTotals& each : sync_totals()) {
    if (is_demand(each.reason) || (each.site != step && each.site != trim)) continue;
    const SyncVerdict verdict = classify(each);
    (verdict.kind == SyncClass::warm_up ? warm_up : later) += each.calls;
    EXPECT_FALSE(verdict.fix.empty()) << verdict.evidence;
  }
  EXPECT_EQ(warm_up, 1U) << "the first step";
  EXPECT_EQ(later, 29U + 30U);
}

}  // namespace tutti
