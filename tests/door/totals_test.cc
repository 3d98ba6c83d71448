// The door's account: exact per line, demand and flow apart, blocked only where it blocked.
#include <gtest/gtest.h>

#include <thread>

#include "door/blocking_calls.h"
#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;
using namespace std::chrono_literals;

SyncTotals totals_at(Site site, SyncReason reason) {
  for (const SyncTotals& each : sync_totals()) {
    if (each.site == site && each.reason == reason) return each;
  }
  return {};
}

}  // namespace

TEST(Door, CountsEveryReadAtItsLine) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site first;
  const Site second;
  for (int i = 0; i < 25; ++i) {
    (void)item<float>(ones({}), first);
    (void)read<float>(ones({3}), second);
    (void)read<float>(ones({3}), second);
  }
  EXPECT_EQ(totals_at(first, SyncReason::value_read).calls, 25U);
  EXPECT_EQ(totals_at(second, SyncReason::value_read).calls, 50U);
  EXPECT_EQ(sync_counts().demand, 75U);
}

TEST(Door, TellsTheReasonsAtOneLineApart) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Stream stream = default_stream("GPU:0");
  Event event;
  const Site here;
  const Tensor x = ones({2});
  event.record(stream);
  x.sync({}, here);
  stream.sync({}, here);
  event.sync({}, here);
  synchronize("GPU:0", {}, here);
  sync_devices({}, here);
  (void)nonzero(x, here);
  (void)to_string(x, here);
  for (const SyncReason reason :
       {SyncReason::tensor_sync, SyncReason::stream_sync, SyncReason::event_sync, SyncReason::device_sync,
        SyncReason::all_devices_sync, SyncReason::data_dependent_shape, SyncReason::value_read}) {
    EXPECT_EQ(totals_at(here, reason).calls, 1U) << to_string(reason);
    EXPECT_TRUE(is_demand(reason));
  }
  EXPECT_EQ(sync_counts().demand, 7U);
}

TEST(Door, CountsFlowApartFromDemand) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({1000});  // maps the first memory of the device
  EXPECT_GT(sync_counts().flow, 0U);
  EXPECT_EQ(sync_counts().demand, 0U);
  const std::uint64_t flow = sync_counts().flow;
  x.sync();
  EXPECT_EQ(sync_counts().demand, 1U);
  EXPECT_EQ(sync_counts().flow, flow);
}

TEST(Door, AReadThatHadToWaitIsCountedAsBlockedWithItsTime) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Gate gate;
  const Tensor x = gate.close("GPU:0");
  const Tensor host = copy_to(x, "CPU:0");
  const Site here;
  std::jthread opener([&] {
    while (blocking_calls::asleep() == 0) std::this_thread::yield();
    gate.open();
  });
  {
    const blocking_calls::Watch watch;
    EXPECT_EQ(item<float>(host, here), 1);
  }
  const SyncTotals totals = totals_at(here, SyncReason::value_read);
  EXPECT_EQ(totals.calls, 1U);
  EXPECT_EQ(totals.blocked, 1U);
  EXPECT_EQ(totals.timed_out, 0U);
  EXPECT_GT(totals.blocked_time, 0);
  EXPECT_EQ(totals.longest, totals.blocked_time);
}

TEST(Door, AReadOfAReadyValueIsACallThatDidNotBlock) {
  simulate_gpus(1);
  const Site here;
  const DeviceScope on("CPU:0");
  const Tensor x = ones({}) + 1;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(item<float>(x, here), 2);
  const SyncTotals totals = totals_at(here, SyncReason::value_read);
  EXPECT_EQ(totals.calls, 10U);
  EXPECT_EQ(totals.blocked, 0U);
  EXPECT_EQ(totals.blocked_time, 0);
}

TEST(Door, ATimeoutIsCountedAsSuchAndAsTheTimeItTook) {
  simulate_gpus(1);
  Gate gate;
  const Tensor x = gate.close("GPU:0");
  const Site here;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(x.sync({.timeout = 4ms}, here), DeadlineExceeded);
  gate.open();
  x.sync({}, here);
  const SyncTotals totals = totals_at(here, SyncReason::tensor_sync);
  EXPECT_EQ(totals.calls, 4U);
  EXPECT_EQ(totals.timed_out, 3U);
  EXPECT_GE(totals.blocked, 3U);
  EXPECT_GE(totals.blocked_time, 12'000'000);
  EXPECT_GE(totals.longest, 4'000'000);
}

TEST(Door, KeepsExactTotalsWhenThreadsPassAtOnce) {
  simulate_gpus(1);
  const Tensor x = ones({});
  x.sync();
  reset_sync_totals();
  const Site here;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2500; ++i) x.sync({}, here);
      });
    }
  }
  EXPECT_EQ(totals_at(here, SyncReason::tensor_sync).calls, 10'000U);
  EXPECT_EQ(sync_counts().demand, 10'000U);
}

TEST(Door, ForgetsOnRequest) {
  simulate_gpus(1);
  (void)item<float>(ones({}));
  EXPECT_GT(sync_counts().demand, 0U);
  reset_sync_totals();
  EXPECT_EQ(sync_counts().demand, 0U);
  EXPECT_EQ(sync_counts().flow, 0U);
  EXPECT_EQ(sync_counts().blocked_time, 0);
  EXPECT_TRUE(sync_totals().empty());
}

TEST(Door, TryingToReadIsNoSync) {
  simulate_gpus(1);
  Gate gate;
  const Tensor x = gate.close("GPU:0");
  const std::uint64_t before = blocking_calls::of_this_thread();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(try_read<float>(x).has_value());
  EXPECT_FALSE(x.is_ready());
  const Pending<float> later = read_async<float>(x);
  EXPECT_FALSE(later.is_ready());
  EXPECT_EQ(sync_counts().demand, 0U);
  EXPECT_EQ(blocking_calls::of_this_thread(), before);
  gate.open();
  EXPECT_EQ(later.get(), 1);
  EXPECT_EQ(sync_counts().demand, 1U);
}

}  // namespace tutti
