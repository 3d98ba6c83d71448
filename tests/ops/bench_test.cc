// tt::bench times all that a function sets going, tells enqueueing, device time and both apart, and says what the host waited
// for.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {
namespace {

// Takes its input's number of microseconds.
const OpRow& busy_op() {
  static const Kernel kernel = [](const KernelCall& call, KernelContext&) {
    const Nanoseconds until = now() + *call.in(0).as<std::int64_t>() * 1000;
    while (now() < until) {}
    *call.out().as<std::int64_t>() = until;
  };
  static const Infer infer = [](Inference& in) { in.output(DType::i64, Shape{}); };
  static const OpRow& row = register_op({.name = "BenchBusy", .infer = infer}, {.cpu = kernel, .sim = kernel});
  return row;
}

Tensor busy(const Tensor& microseconds) { return call_op(busy_op(), std::vector<Tensor>{microseconds}, {}).at(0); }
Tensor number(std::int64_t value) { return full({}, value, DType::i64); }

std::optional<BenchWait> wait_for(const BenchResult& result, SyncReason reason) {
  const auto found =
      std::find_if(result.waits.begin(), result.waits.end(), [&](const BenchWait& w) { return w.reason == reason; });
  return found == result.waits.end() ? std::nullopt : std::optional(*found);
}

bool says(const BenchResult& result, std::string_view words) { return result.to_string().find(words) != std::string::npos; }

TEST(Bench, GivesThreeTimesInOrderAndCountsNoSyncs) {
  simulate_gpus(1);
  const Tensor a = uniform({128, 128});
  const BenchResult result = bench([&] { const Tensor c = matmul(a, a); }, {.samples = 5, .calls_per_sample = 20});
  EXPECT_EQ(result.samples, 5);
  EXPECT_EQ(result.enqueue_calls, 20);
  EXPECT_GT(result.host_enqueue.median, 0);
  EXPECT_GT(result.device.median, 0);
  EXPECT_GE(result.end_to_end.median, result.host_enqueue.median);
  EXPECT_LE(result.end_to_end.p10, result.end_to_end.p90);
  EXPECT_EQ(result.syncs_per_call, 0);
  EXPECT_FALSE(says(result, "note")) << result.to_string();
}

TEST(Bench, TimesWorkOnADeviceThatNoScopeNames) {
  simulate_gpus(3);
  const BenchResult result = bench(
      [] {
        const DeviceScope on("GPU:2");
        const Tensor y = busy(number(500));
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 4});
  EXPECT_GE(result.device.median, 450e3) << result.to_string();
  EXPECT_GE(result.end_to_end.median, 450e3) << result.to_string();
  EXPECT_EQ(result.devices, 1);
}

TEST(Bench, TimesWorkOnAStreamOfTheFunctionsOwn) {
  simulate_gpus(1);
  const Stream own("GPU:0");
  const BenchResult result = bench(
      [&] {
        const StreamScope in(own);
        const Tensor y = busy(number(5000));
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 4});
  EXPECT_GE(result.end_to_end.p10, 4000e3) << result.to_string();
  EXPECT_GE(result.device.p10, 4000e3) << result.to_string();
}

TEST(Bench, TimesWorkOnStreamsThatItsCallsMake) {
  simulate_gpus(1);
  const BenchResult result = bench(
      [] {
        const StreamScope in(Stream("GPU:0"));
        const Tensor y = busy(number(5000));
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 1});
  EXPECT_GE(result.end_to_end.p10, 4000e3) << result.to_string();
  EXPECT_GE(result.device.p10, 4000e3) << result.to_string();
}

TEST(Bench, EndsWithTheSlowestOfSeveralDevices) {
  simulate_gpus(2);
  const BenchResult result = bench(
      [] {
        for (const char* device : {"GPU:1", "GPU:0"}) {
          const DeviceScope on(device);
          const Tensor y = busy(number(device[4] == '1' ? 800 : 10));
        }
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 4});
  EXPECT_GE(result.device.median, 750e3) << result.to_string();
  EXPECT_EQ(result.devices, 2);
  EXPECT_EQ(result.streams, 2);
  EXPECT_TRUE(says(result, "2 streams of 2 devices")) << result.to_string();
}

TEST(Bench, FindsADeviceThatTheWarmUpDidNotTouch) {
  simulate_gpus(2);
  int calls = 0;
  const BenchResult result = bench(
      [&] {
        const DeviceScope on(++calls <= 3 ? "GPU:0" : "GPU:1");
        const Tensor y = busy(number(300));
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 2});
  EXPECT_GE(result.device.p10, 270e3) << result.to_string();
  EXPECT_GE(result.end_to_end.p10, 270e3) << result.to_string();
}

TEST(Bench, OpsInTheCallerAreDeviceTimeToo) {
  const DeviceScope on("CPU:0");
  const Tensor time = number(200);
  const BenchResult result = bench([&] { const Tensor y = busy(time); }, {.warm_up = 1, .samples = 3, .calls_per_sample = 4});
  EXPECT_GE(result.host_enqueue.median, 180e3);
  EXPECT_GE(result.device.median, 180e3);
  EXPECT_EQ(result.streams, 0);
  EXPECT_TRUE(says(result, "in the caller")) << result.to_string();
}

TEST(Bench, HostEnqueueIsOfAsManyCallsAsFitIntoTheRunAhead) {
  simulate_gpus(1);
  const Tensor time = copy_to(number(100), "GPU:0");  // us: more than a host under a sanitizer takes to submit it
  const BenchResult result = bench(
      [&] {
        for (int i = 0; i < 100; ++i) const Tensor y = busy(time);
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 12});
  EXPECT_GE(result.device.median, 9500e3);
  EXPECT_LT(result.host_enqueue.median, result.device.median / 2) << result.to_string();
  EXPECT_LT(result.enqueue_calls, 12);
  EXPECT_TRUE(says(result, "of 12 calls")) << result.to_string();
  // The rest of a sample was held back, which is in the figures of the whole.
  const std::optional<BenchWait> held = wait_for(result, SyncReason::back_pressure);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->in_host_enqueue.p90, 0);
  EXPECT_GT(held->in_end_to_end.p90, 0);
}

TEST(Bench, SaysThatACallIsLargerThanTheRunAhead) {
  simulate_gpus(1);
  const Tensor time = copy_to(number(200), "GPU:0");  // us: four times what a host under a sanitizer takes to submit it
  const BenchResult result = bench(
      [&] {
        for (int i = 0; i < 700; ++i) const Tensor y = busy(time);
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 4});
  EXPECT_EQ(result.enqueue_calls, 1);
  const std::optional<BenchWait> held = wait_for(result, SyncReason::back_pressure);
  ASSERT_TRUE(held);
  EXPECT_GT(held->in_host_enqueue.p90, 0);
  EXPECT_TRUE(says(result, "note: host enqueue holds waits of the host, back-pressure")) << result.to_string();
}

TEST(Bench, SaysThatACallWaitsForMemory) {
  simulate_gpus(1, {.memory_bytes = std::size_t{8} << 20U});
  const Tensor time = copy_to(number(300), "GPU:0");
  const BenchResult result = bench(
      [&] {
        const Tensor slow = busy(time);
        {
          const Tensor most = uniform({5 << 18});  // 5 MiB of 8
        }
        const Stream other("GPU:0");
        const StreamScope in(other);
        const Tensor more = uniform({6 << 18});  // fits when those are free
      },
      {.warm_up = 1, .samples = 3, .calls_per_sample = 4});
  ASSERT_TRUE(wait_for(result, SyncReason::memory_pressure)) << result.to_string();
  EXPECT_GT(wait_for(result, SyncReason::memory_pressure)->in_host_enqueue.p90, 0);
  EXPECT_TRUE(says(result, "memory pressure")) << result.to_string();
}

TEST(Bench, SaysSoWhenTheFunctionItselfSyncs) {
  simulate_gpus(1);
  const Tensor time = copy_to(number(400), "GPU:0");
  const BenchResult result = bench([&] { (void)item<std::int64_t>(busy(time)); }, {.samples = 3, .calls_per_sample = 4});
  EXPECT_EQ(result.syncs_per_call, 1);
  EXPECT_TRUE(says(result, "syncs")) << result.to_string();
  ASSERT_TRUE(wait_for(result, SyncReason::value_read));
  EXPECT_GT(wait_for(result, SyncReason::value_read)->in_host_enqueue.p90, 50e3);
}

TEST(Bench, ReportsAFailureOfWhatItTimed) {
  simulate_gpus(1);
  const Tensor x = copy_to(full({4}, std::int64_t{1}, DType::i64), "GPU:0");
  EXPECT_THROW(bench([&] { const Tensor y = take(x, full({1}, std::int64_t{9}, DType::i64)); }, {.warm_up = 0}), Error);
}

TEST(Bench, RefusesNoSamples) {
  EXPECT_THROW(bench([] {}, {.samples = 0}), InvalidArgument);
}

}  // namespace
}  // namespace tutti
