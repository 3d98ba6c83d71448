// Bounded run-ahead: the host can be so far ahead of a stream and no further, in ops and in bytes.
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <thread>

#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;

std::uint64_t passages(SyncReason reason) {
  std::uint64_t calls = 0;
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason == reason) calls += each.calls;
  }
  return calls;
}

// A host thread that enqueues until it meets the bound; the test watches from outside.
void wait_for_back_pressure() {
  while (passages(SyncReason::back_pressure) == 0) std::this_thread::yield();
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST(RunAhead, BlocksTheHostExactlyAtTheBoundInOps) {
  simulate_gpus(1);
  constexpr std::uint64_t most = 40;
  Stream stream("GPU:0", {.most_ops = most});
  Gate gate;
  std::atomic<int> enqueued = 0;
  {
    const StreamScope in(stream);
    gate.close("GPU:0");
  }
  gate.await_entered();
  const std::uint64_t before = stream.base().last().value;
  std::jthread host([&] {
    const DeviceScope on("GPU:0");
    const StreamScope in(stream);
    for (int i = 0; i < 100; ++i) {
      (void)zeros({4});
      ++enqueued;
    }
  });
  wait_for_back_pressure();
  EXPECT_EQ(stream.base().last().value, before + most - 1) << "the gate is one of them";
  EXPECT_EQ(enqueued, static_cast<int>(most) - 1);
  EXPECT_EQ(sync_counts().demand, 0U) << "the program asked for nothing";
  gate.open();
  host.join();
  stream.sync();
  EXPECT_EQ(enqueued, 100);
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason != SyncReason::back_pressure) continue;
    EXPECT_FALSE(is_demand(each.reason));
    EXPECT_GE(each.blocked, 1U);
    EXPECT_GT(each.blocked_time, 0);
    EXPECT_STREQ(each.site.file(), __FILE__) << "the line that enqueued";
  }
}

TEST(RunAhead, BlocksTheHostAtTheBoundInBytes) {
  simulate_gpus(1);
  Stream stream("GPU:0", {.most_bytes = 10'000});
  Gate gate;
  std::atomic<int> enqueued = 0;
  {
    const StreamScope in(stream);
    gate.close("GPU:0");
  }
  std::jthread host([&] {
    const DeviceScope on("GPU:0");
    const StreamScope in(stream);
    for (int i = 0; i < 20; ++i) {
      (void)zeros({250});  // 1000 bytes
      ++enqueued;
    }
  });
  wait_for_back_pressure();
  EXPECT_EQ(enqueued, 9) << "nine thousand and the gate's four bytes; a tenth would be too much";
  gate.open();
  host.join();
  EXPECT_EQ(enqueued, 20);
}

TEST(RunAhead, LetsAnOpLargerThanTheBoundThroughWhenTheStreamIsEmpty) {
  simulate_gpus(1);
  Stream stream("GPU:0", {.most_bytes = 100});
  const DeviceScope on("GPU:0");
  const StreamScope in(stream);
  EXPECT_EQ(item<float>(sum(ones({1000}))), 1000);
}

TEST(RunAhead, OfOneOpAtATimeStillRunsEverything) {
  simulate_gpus(1);
  Stream stream("GPU:0", {.most_ops = 1});
  const DeviceScope on("GPU:0");
  const StreamScope in(stream);
  Tensor x = zeros({8}, DType::i64);
  for (int i = 0; i < 200; ++i) x = x + 1;
  EXPECT_EQ(item<std::int64_t>(sum(x)), 1600);
}

TEST(RunAhead, AMillionSmallOpsRunInBoundedMemoryAndAllResolve) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int ops = 20'000;
#else
  constexpr int ops = 1'000'000;
#endif
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Stream stream = default_stream("GPU:0");
  Tensor x = zeros({8}, DType::i64);
  for (int i = 0; i < 5'000; ++i) x = add(x, 1);  // pools, free lists and the ring are warm
  x.sync();
  const std::uint64_t before = resident_bytes();
  const std::uint64_t first = stream.base().last().value;
  for (int i = 0; i < ops; ++i) x = add(x, 1);
  EXPECT_EQ(item<std::int64_t>(slice(x, 0, {.start = 0, .stop = 1})), 5'000 + ops);
  EXPECT_GE(stream.base().last().value, first + ops);
  EXPECT_TRUE(stream.is_idle());
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(resident_bytes(), before + MiB(8));
#else
  (void)before;
#endif
}

}  // namespace tutti
