// What a demand sync does to the thread that makes it: modes, scopes, budgets. The call is judged, not the race.
#include <gtest/gtest.h>

#include <thread>

#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;
using namespace std::chrono_literals;

std::vector<std::string>& warnings() {
  static std::vector<std::string> lines;
  return lines;
}

void collect_warnings() {
  set_log_sink([](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) warnings().emplace_back(line);
  });
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const SyncForbidden& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST(SyncModes, AreAllowUntilSomeoneSaysOtherwise) {
  EXPECT_EQ(get_sync_debug_mode(), OnSync::allow);
  set_sync_debug_mode(OnSync::warn);
  EXPECT_EQ(get_sync_debug_mode(), OnSync::warn);
  std::thread([] { EXPECT_EQ(get_sync_debug_mode(), OnSync::allow) << "a mode belongs to its thread"; }).join();
}

TEST(SyncModes, ErrorThrowsBeforeBlockingAndLeavesEverythingUsable) {
  simulate_gpus(1);
  Gate gate;
  const Tensor held = gate.close("GPU:0");
  {
    const SyncScope strict(OnSync::error);
    // The gate is closed: had any of these blocked, the test would hang.
    EXPECT_THROW((void)item<float>(held), SyncForbidden);
    EXPECT_THROW((void)read<float>(held), SyncForbidden);
    EXPECT_THROW((void)to_string(held), SyncForbidden);
    EXPECT_THROW((void)nonzero(held), SyncForbidden);
    EXPECT_THROW(held.sync(), SyncForbidden);
    EXPECT_THROW(default_stream("GPU:0").sync(), SyncForbidden);
    EXPECT_THROW(synchronize("GPU:0"), SyncForbidden);
    EXPECT_THROW(sync_devices(), SyncForbidden);
    EXPECT_EQ(strict.demand_syncs(), 0U);
    EXPECT_EQ(sync_counts().demand, 0U);
  }
  gate.open();
  EXPECT_EQ(item<float>(held + 1), 2);
}

TEST(SyncModes, ErrorJudgesTheCallNotTheRace) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({});
  x.sync();
  const Tensor there = copy_to(x, "CPU:0");
  there.sync();
  const SyncScope strict(OnSync::error);
  EXPECT_THROW((void)item<float>(there), SyncForbidden) << "the value is there, and still it is a demand sync";
  EXPECT_EQ(try_read<float>(there), std::vector<float>{1}) << "never blocks, so it is always allowed";
  const Pending<float> later = read_async<float>(x);
  EXPECT_THROW((void)later.get(), SyncForbidden);
}

TEST(SyncModes, TheErrorSaysWhatWasWantedWhoForbidsItAndWhatToDo) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = sum(ones({4}));
  const SyncScope strict(OnSync::error);
  const std::string message = refusal([&] { (void)item<float>(x); });
  EXPECT_NE(message.find("a value read of what sum made"), std::string::npos) << message;
  EXPECT_NE(message.find("the SyncScope at "), std::string::npos) << message;
  EXPECT_NE(message.find("read_async()"), std::string::npos) << message;
  EXPECT_NE(message.find("modes_test.cc"), std::string::npos) << message;
}

TEST(SyncModes, RefusalsAreCountedAtTheirSite) {
  const SyncScope strict(OnSync::error);
  const Tensor x = ones({});
  const Site here;
  for (int i = 0; i < 3; ++i) EXPECT_THROW((void)item<float>(x, here), SyncForbidden);
  std::uint64_t refused = 0;
  for (const SyncTotals& each : sync_totals()) {
    if (each.site == here) refused += each.refused;
  }
  EXPECT_EQ(refused, 3U);
  EXPECT_EQ(sync_counts().demand, 0U);
}

TEST(SyncModes, FlowIsNeverForbidden) {
  simulate_gpus(1);
  const SyncScope strict(OnSync::error);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({1000});  // maps the first memory of the device
  EXPECT_GT(sync_counts().flow, 0U);
  EXPECT_TRUE(x.is_defined());
}

TEST(SyncModes, WarnSaysReasonAndSiteOncePerSite) {
  collect_warnings();
  const SyncScope scope(OnSync::warn);
  const Tensor x = ones({});
  for (int i = 0; i < 5; ++i) (void)item<float>(x);
  (void)item<float>(x);
  ASSERT_EQ(warnings().size(), 2U);
  EXPECT_EQ(warnings()[0].find("a value read"), 0U) << warnings()[0];
  EXPECT_NE(warnings()[0].find("modes_test.cc"), std::string::npos) << warnings()[0];
  EXPECT_EQ(scope.demand_syncs(), 6U);
  set_log_sink({});
}

TEST(SyncModes, WarnSaysItEveryTimeIfAsked) {
  collect_warnings();
  set_sync_warnings(SyncWarnings::always);
  const SyncScope scope(OnSync::warn);
  const Tensor x = ones({});
  for (int i = 0; i < 5; ++i) (void)item<float>(x);
  EXPECT_EQ(warnings().size(), 5U);
  set_log_sink({});
}

TEST(SyncScopes, NestAndGiveBackWhatWasBefore) {
  const Tensor x = ones({});
  {
    const SyncScope outer(OnSync::error);
    {
      const SyncScope inner(OnSync::count);
      (void)item<float>(x);
      EXPECT_EQ(inner.demand_syncs(), 1U);
    }
    EXPECT_EQ(outer.demand_syncs(), 1U) << "it happened in here too";
    EXPECT_THROW((void)item<float>(x), SyncForbidden);
  }
  EXPECT_EQ(get_sync_debug_mode(), OnSync::allow);
}

TEST(SyncScopes, AllowSyncLetsThroughWhatIsMeantAndTheLedgerStillCounts) {
  const Tensor x = ones({});
  const SyncScope strict(OnSync::error);
  {
    const AllowSync once("log the loss");
    EXPECT_EQ(item<float>(x), 1);
  }
  EXPECT_THROW((void)item<float>(x), SyncForbidden);
  EXPECT_EQ(sync_counts().demand, 1U);
}

TEST(SyncScopes, AllowSyncLetsThroughWithoutAReasonToo) {
  const SyncScope strict(OnSync::error);
  const AllowSync once(nullptr);
  EXPECT_EQ(item<float>(ones({})), 1);
}

TEST(SyncBudgets, ThrowAtTheFirstSyncTooManyAndNameThoseBefore) {
  const Tensor x = ones({});
  const SyncBudget budget(2, "one step");
  const Site first;
  (void)item<float>(x, first);
  x.sync();
  const std::string message = refusal([&] { (void)item<float>(x); });
  EXPECT_NE(message.find("the budget \"one step\" of 2 demand syncs"), std::string::npos) << message;
  EXPECT_NE(message.find("value read at " + first.to_string()), std::string::npos) << message;
  EXPECT_NE(message.find("tensor sync at "), std::string::npos) << message;
  EXPECT_EQ(budget.spent(), 2U);
}

TEST(SyncBudgets, OfNoneForbidTheFirst) {
  const SyncBudget none(0, "hot loop");
  EXPECT_NE(refusal([] { (void)item<float>(ones({})); }).find("of 0 demand syncs"), std::string::npos);
}

TEST(SyncBudgets, NestAndEachJudgesAlone) {
  const Tensor x = ones({});
  SyncBudget outer(3, "outer");
  for (int step = 0; step < 2; ++step) {
    const SyncBudget inner(1, "inner");
    (void)item<float>(x);
    EXPECT_NE(refusal([&] { (void)item<float>(x); }).find("\"inner\""), std::string::npos);
  }
  (void)item<float>(x);
  EXPECT_NE(refusal([&] { (void)item<float>(x); }).find("\"outer\""), std::string::npos);
  EXPECT_EQ(outer.spent(), 3U);
}

TEST(SyncBudgets, BelongToTheirThread) {
  const SyncBudget none(0, "this thread");
  std::thread([] { EXPECT_EQ(item<float>(ones({})), 1); }).join();
}

TEST(ReadAll, BringsSeveralValuesWithOneSync) {
  simulate_gpus(2);
  Tensor a;
  Tensor b;
  {
    const DeviceScope on("GPU:0");
    a = ones({3}) * 2;
  }
  {
    const DeviceScope on("GPU:1");
    b = arange(4);
  }
  const SyncScope counting(OnSync::count);
  const auto [twos, numbers] = read_all<float, std::int64_t>(a, b);
  EXPECT_EQ(twos, (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(counting.demand_syncs(), 1U);
}

TEST(SyncModes, TheErrorNamesEveryKindOfSyncInASentence) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  Event event;
  event.record(stream);
  const Tensor x = ones({});
  const SyncScope strict(OnSync::error);
  EXPECT_EQ(refusal([&] { event.sync(); }).find("an event sync would block the host here"), 0U);
  EXPECT_EQ(refusal([&] { stream.sync(); }).find("a stream sync would block the host here"), 0U);
  EXPECT_EQ(refusal([] { sync_devices(); }).find("a sync of all devices would block the host here"), 0U);
  EXPECT_EQ(refusal([&] { x.sync(); }).find("a tensor sync of what ones made would block the host here"), 0U);
}

}  // namespace tutti
