// What a wait costs the GPU, on a host and a GPU whose times are known.
#include "tutti/trace/gpu_idle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_bytes.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tracing {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t us = 1000;
constexpr std::uint32_t steps = 21;

// Each step: a launch of 100 us of work, 20 us of the host's, and a wait for the work of the step before.
TEST(GpuIdle, ALongWaitCostsNothingWhileTheGpuHasWork) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  for (std::uint32_t i = 1; i <= steps; ++i) {
    const std::uint64_t time = i * 100 * us;
    bytes.record(RecordKind::launch, LaunchBody{time, time + 5 * us, i, 7});
    bytes.record(RecordKind::work, WorkBody{time + 80 * us, time + 180 * us, 0, 4, i, 13, 0, WorkKind::kernel, 0});
    WaitBody wait{};
    wait.begin = time + 25 * us;
    wait.end = time + 82 * us;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::event;
    bytes.record(RecordKind::wait, wait);
  }
  const TraceReport report = make_report({read_trace(bytes.bytes, "a")});
  ASSERT_EQ(report.sites.size(), 1U);
  EXPECT_EQ(report.sites[0].cost.idle, 0U);
  EXPECT_LT(report.sites[0].cost.gain / (steps - 1), 5 * us);
  EXPECT_GT(report.sites[0].time / steps, 50 * us);
}

// Each step: 5 us to launch, a kernel of `kernel`, a wait for it, and `host` until the next launch.
ProcessTrace loop_trace(std::uint64_t kernel, std::uint64_t host) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  std::uint64_t time = 0;
  for (std::uint32_t i = 1; i <= steps; ++i) {
    const std::uint64_t begin = time + 7 * us;
    bytes.record(RecordKind::launch, LaunchBody{time, time + 5 * us, i, 7});
    bytes.record(RecordKind::work, WorkBody{begin, begin + kernel, 0, 4, i, 13, 0, WorkKind::kernel, 0});
    WaitBody wait{};
    wait.begin = time + 6 * us;
    wait.end = begin + kernel + 3 * us;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    bytes.record(RecordKind::wait, wait);
    time = wait.end + host;
  }
  return read_trace(bytes.bytes, "a");
}

TraceReport loop(std::uint64_t kernel, std::uint64_t host) { return make_report({loop_trace(kernel, host)}); }

TEST(GpuIdle, AWaitThatDrainsTheGpuCostsTheTimeUntilTheNextLaunch) {
  const TraceReport report = loop(100 * us, 20 * us);  // 130 us a step, of which the GPU works 100
  ASSERT_TRUE(report.gpu.has_value());
  EXPECT_EQ(report.gpu->time, (steps - 1) * 130 * us);
  EXPECT_NEAR(static_cast<double>(report.gpu->busy()), (steps - 1) * 100.0 * us, 100.0 * us);
  EXPECT_NEAR(static_cast<double>(report.sites[0].cost.idle), (steps - 2) * 30.0 * us, 60.0 * us);
}

TEST(GpuIdle, TheSimulationGivesBackWhatWasMeasured) {
  const TraceReport report = loop(100 * us, 20 * us);
  EXPECT_NEAR(static_cast<double>(report.gpu->simulated), static_cast<double>(report.gpu->time),
              0.03 * static_cast<double>(report.gpu->time));
}

TEST(GpuIdle, WithoutItsWaitAHostThatIsQuickEnoughKeepsTheGpuBusy) {
  const TraceReport report = loop(100 * us, 20 * us);
  EXPECT_NEAR(static_cast<double>(report.sites[0].cost.gain) / (steps - 1), 30.0 * us, 4.0 * us);
  EXPECT_EQ(report.gpu->gain, report.sites[0].cost.gain);
  EXPECT_THAT(report.to_text(), HasSubstr("less a step"));
}

TEST(GpuIdle, WithoutItsWaitAHostThatIsSlowGainsTheWaitOnly) {
  const TraceReport report = loop(20 * us, 100 * us);  // 130 us a step, 106 of them the host's own
  EXPECT_NEAR(static_cast<double>(report.sites[0].cost.gain) / (steps - 1), 24.0 * us, 3.0 * us);
}

// Each step: a launch and a wait at one place, 10 us later a second one at another, which has nothing left to wait for; then
// `host`.
TEST(GpuIdle, TwoWaitsInARowGainOnlyTogether) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  bytes.named(RecordKind::text, 8, "cuEventSynchronize");
  std::uint64_t time = 0;
  for (std::uint32_t i = 1; i <= steps; ++i) {
    bytes.record(RecordKind::launch, LaunchBody{time, time + 5 * us, i, 7});
    bytes.record(RecordKind::work, WorkBody{time + 7 * us, time + 107 * us, 0, 4, i, 13, 0, WorkKind::kernel, 0});
    for (const std::uint32_t api : {2U, 8U}) {
      WaitBody wait{};
      wait.begin = api == 2 ? time + 6 * us : time + 120 * us;
      wait.end = api == 2 ? time + 110 * us : time + 121 * us;
      wait.api = api;
      wait.thread = 7;
      wait.stack = 1;
      wait.calls = 1;
      wait.kind = api == 2 ? WaitKind::stream : WaitKind::context;
      bytes.record(RecordKind::wait, wait);
    }
    time += 140 * us;
  }
  const std::vector<ProcessTrace> traces{read_trace(bytes.bytes, "a")};
  const TraceReport report = make_report(traces);
  ASSERT_EQ(report.sites.size(), 2U);
  const std::uint64_t both = gain_without({{0}, {1}}, report.waits, 0, report.steps, traces[0]);
  EXPECT_EQ(both, report.gpu->gain);
  EXPECT_GT(both, report.sites[0].cost.gain);
  EXPECT_EQ(gain_without({{0}}, report.waits, 0, report.steps, traces[0]), report.sites[0].cost.gain);
  const std::uint64_t half = gain_without({{0, 0.5}, {1, 0.5}}, report.waits, 0, report.steps, traces[0]);
  EXPECT_NEAR(static_cast<double>(half), static_cast<double>(both) / 2, 0.1 * static_cast<double>(both));
  EXPECT_EQ(gain_without({}, report.waits, 0, report.steps, traces[0]), 0U);
}

// What one wait and then another one in the same gap held up, and no more, is theirs.
TEST(GpuIdle, IsNoLongerThanTheWaitsHeldUpTheHostAndNoLongerThanTheGap) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  bytes.named(RecordKind::text, 8, "cuMemcpyHtoD_v2");
  std::uint64_t time = 0;
  std::uint32_t launches = 0;
  const auto kernel = [&](std::uint64_t launch, std::uint64_t begin, std::uint64_t end) {
    bytes.record(RecordKind::launch, LaunchBody{launch, launch + 2 * us, ++launches, 7});
    bytes.record(RecordKind::work, WorkBody{begin, end, 0, 4, launches, 13, 0, WorkKind::kernel, 0});
  };
  const auto wait = [&](std::uint32_t api, WaitKind kind, std::uint64_t begin, std::uint64_t end) {
    WaitBody body{};
    body.begin = begin;
    body.end = end;
    body.api = api;
    body.thread = 7;
    body.stack = 1;
    body.calls = 1;
    body.kind = kind;
    bytes.record(RecordKind::wait, body);
  };
  for (std::uint32_t i = 1; i <= steps; ++i, time += 300 * us) {
    kernel(time, time + 5 * us, time + 50 * us);
    wait(2, WaitKind::stream, time + 10 * us, time + 52 * us);
    // The host stages the copy, which begins in the gap that the first wait opened, and ends before the next one.
    wait(8, WaitKind::copy, time + 60 * us, time + 100 * us);
    kernel(time + 61 * us, time + 80 * us, time + 98 * us);
  }
  const TraceReport report = make_report({read_trace(bytes.bytes, "a")});
  ASSERT_EQ(report.sites.size(), 2U);
  for (const WaitSite& site : report.sites) {
    EXPECT_GT(site.cost.idle, 0U);
    EXPECT_LE(site.cost.idle, site.time);
  }
  EXPECT_LE(report.sites[0].cost.idle + report.sites[1].cost.idle, report.gpu->time - report.gpu->busy());
  for (const HostWait& each : report.waits.waits) EXPECT_LE(each.idle, each.time());
}

// Each step: a long wait drains the GPU; then the host launches ten kernels of 10 us, one every 30 us.
TEST(GpuIdle, OfAHostThatLaunchesLateAfterAWaitIsThatWaitsUntilItsTimeIsUsedUp) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  std::uint64_t time = 0;
  std::uint32_t launches = 0;
  for (std::uint32_t i = 1; i <= steps; ++i) {
    for (std::uint32_t k = 0; k < 10; ++k, time += 30 * us) {
      bytes.record(RecordKind::launch, LaunchBody{time, time + 5 * us, ++launches, 7});
      const std::uint64_t length = (k == 9 ? 100 : 10) * us;
      bytes.record(RecordKind::work, WorkBody{time + 7 * us, time + 7 * us + length, 0, 4, launches, 13, 0, WorkKind::kernel, 0});
    }
    WaitBody wait{};
    wait.begin = time;
    wait.end = time + 80 * us;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    bytes.record(RecordKind::wait, wait);
    time = wait.end;
  }
  const TraceReport report = make_report({read_trace(bytes.bytes, "a")});
  ASSERT_EQ(report.sites.size(), 1U);
  EXPECT_NEAR(static_cast<double>(report.sites[0].cost.idle) / (steps - 1), 80.0 * us, 5.0 * us);
  EXPECT_NEAR(static_cast<double>(report.sites[0].cost.gain) / (steps - 1), 80.0 * us, 10.0 * us);
}

TEST(GpuIdle, OfSeveralProcessesIsThatOfEachAndTheirSum) {
  const ProcessTrace trace = loop_trace(100 * us, 20 * us);
  const TraceReport one = make_report({trace});
  const TraceReport two = make_report({trace, trace});
  ASSERT_EQ(two.sites.size(), 1U);
  EXPECT_EQ(two.gpu->gain, 2 * one.gpu->gain);
  EXPECT_EQ(two.sites[0].cost.idle, 2 * one.sites[0].cost.idle);
  ASSERT_EQ(two.sites[0].shares.size(), 2U);
  for (const SiteShare& share : two.sites[0].shares) {
    EXPECT_EQ(share.cost.idle, one.sites[0].cost.idle);
    EXPECT_EQ(share.cost.gain, one.sites[0].cost.gain);
  }
  const auto cost_in = [](const std::string& text) {
    const std::size_t at = text.find("left the GPU idle");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(cost_in(two.to_text()), cost_in(one.to_text())) << "a step is one of each process";
}

TEST(GpuIdle, WhereTheHostIsTheLimitAPredictionIsTheLeastThatCanBeExpected) {
  EXPECT_THAT(loop(20 * us, 100 * us).to_text(), HasSubstr("The host is the limit here: GPU busy 15 % of a step"));
  EXPECT_THAT(loop(100 * us, 20 * us).to_text(), testing::Not(HasSubstr("the limit")));
}

// Each step: 30 us in which the host stages a copy, which then takes the GPU 5 us, and 70 us of other work of the host's.
TEST(GpuIdle, WithoutAStagedCopyTheHostGainsTheTimeOfStaging) {
  TraceBytes bytes = small_trace(0, "    x = x.to(device)", 9, 21);
  std::uint64_t time = 0;
  for (std::uint32_t i = 1; i <= steps; ++i, time += 110 * us) {
    bytes.record(RecordKind::launch, LaunchBody{time + us / 2, time + 30 * us, i, 7});
    bytes.record(RecordKind::work, WorkBody{time + 31 * us, time + 36 * us, 65536, 4, i, 13, 0, WorkKind::copy, 0});
    WaitBody wait{};
    wait.begin = time;
    wait.end = time + 40 * us;
    wait.bytes = 65536;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::staging;
    wait.direction = CopyDirection::to_device;
    wait.memory = HostMemory::pageable;
    bytes.record(RecordKind::wait, wait);
  }
  const TraceReport report = make_report({read_trace(bytes.bytes, "a")});
  EXPECT_NEAR(static_cast<double>(report.gpu->simulated) / (steps - 1), 110.0 * us, 2.0 * us);
  EXPECT_NEAR(static_cast<double>(report.gpu->gain) / (steps - 1), 35.0 * us, 2.0 * us) << "5 us are left to enqueue it";
}

// Each step: a wait for 100 us of GPU 0, then 30 us of the host; meanwhile GPU 1 works on what was launched long before,
// each of it another kernel.
TEST(GpuIdle, AGpuThatIsBusyHidesNothingOfAnotherOnesIdleTime) {
  TraceBytes bytes = small_trace(0, "    value = loss.item()", 13, 24);
  std::uint64_t time = 10'000 * us;
  std::uint32_t launches = 0;
  constexpr std::uint32_t others = steps * 13 + 20;
  for (std::uint32_t i = 0; i < others; ++i) {
    bytes.record(RecordKind::launch,
                 LaunchBody{time - 9'000 * us + i * 2 * us, time - 9'000 * us + i * 2 * us + us, ++launches, 7});
    const std::uint64_t begin = time - 50 * us + i * 10 * us;
    bytes.record(RecordKind::work, WorkBody{begin, begin + 10 * us, 0, 100 + i, launches, 13, 1, WorkKind::kernel, 0});
  }
  for (std::uint32_t i = 1; i <= steps; ++i, time += 130 * us) {
    bytes.record(RecordKind::launch, LaunchBody{time, time + 2 * us, ++launches, 7});
    bytes.record(RecordKind::work, WorkBody{time + 4 * us, time + 97 * us, 0, 4, launches, 13, 0, WorkKind::kernel, 0});
    WaitBody wait{};
    wait.begin = time + 3 * us;
    wait.end = time + 100 * us;
    wait.stream = 0x5500;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    bytes.record(RecordKind::wait, wait);
  }
  const TraceReport report = make_report({read_trace(bytes.bytes, "a")});
  ASSERT_EQ(report.sites.size(), 1U);
  ASSERT_EQ(report.gpu->devices.size(), 2U);
  const auto each = static_cast<double>(report.gpu->time);
  EXPECT_NEAR(static_cast<double>(report.gpu->devices[0].busy) / each, 0.72, 0.04);
  EXPECT_NEAR(static_cast<double>(report.gpu->devices[1].busy) / each, 1.0, 0.02);
  EXPECT_NEAR(static_cast<double>(report.sites[0].cost.idle) / (steps - 1), 37.0 * us, 4.0 * us);
  EXPECT_THAT(report.to_text(), HasSubstr("The GPUs were busy for 85 % of the time (0: 71 %, 1: 99 %)"));
}

TEST(GpuIdle, IsNotToldWhereTheGpusWorkWasNotRecorded) {
  const TraceReport report = make_report({read_trace(small_trace(10).bytes, "a")});
  EXPECT_FALSE(report.gpu.has_value());
  EXPECT_THAT(report.to_json(), HasSubstr("\"gpu\":null"));
}

}  // namespace
}  // namespace tutti::tracing
