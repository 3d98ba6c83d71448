// What the ledger knows of a site beyond its count: op, bytes, stream, thread, queue, idle time, and the evidence for its class.
#include <gtest/gtest.h>

#include <thread>

#include "door/blocking_calls.h"
#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;

// What the program asked for there; the runtime's own waits, for room to copy through say, stand beside it.
SyncTotals at(Site site) {
  for (const SyncTotals& each : sync_totals()) {
    if (each.site == site && is_demand(each.reason)) return each;
  }
  return {};
}

// Opens the gate once the calling thread sleeps in `call`.
template <class F>
void blocked_by(Gate& gate, F&& call) {
  std::jthread opener([&] {
    while (blocking_calls::asleep() == 0) std::this_thread::yield();
    gate.open();
  });
  const blocking_calls::Watch watch;
  call();
}

}  // namespace

TEST(Ledger, NamesTheOpWhoseValueWasWantedItsBytesDeviceStreamAndThread) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Stream stream("GPU:0");
  const StreamScope use(stream);
  const Site here;
  (void)read<float>(matmul(ones({8, 8}), ones({8, 8})), here);
  const SyncTotals entry = at(here);
  EXPECT_STREQ(entry.op, "MatMul");
  EXPECT_EQ(entry.bytes, 8U * 8U * sizeof(float));
  EXPECT_EQ(entry.device, "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(entry.stream, stream.id());
  EXPECT_EQ(entry.thread, static_cast<std::uint64_t>(::gettid()));
  EXPECT_FALSE(entry.several_ops || entry.several_streams || entry.several_threads);
}

TEST(Ledger, SaysWhenASiteWaitedForDifferentOpsOrThreads) {
  const Site here;
  (void)item<float>(sum(ones({2})), here);
  std::thread([&] { (void)item<float>(max(ones({2})), here); }).join();
  const SyncTotals entry = at(here);
  EXPECT_TRUE(entry.several_ops);
  EXPECT_TRUE(entry.several_threads);
  EXPECT_STREQ(entry.op, "Max");
}

TEST(Ledger, KnowsHowDeepTheQueueWas) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Gate gate;
  Tensor x = gate.close("GPU:0");
  for (int i = 0; i < 9; ++i) x = x + 1;
  const Site here;
  blocked_by(gate, [&] { x.sync({}, here); });
  EXPECT_EQ(at(here).deepest_queue, 10U);
}

TEST(Ledger, ChargesTheIdleTimeOfTheDeviceToTheWaitThatEmptiedIt) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Gate gate;
  const Tensor x = gate.close("GPU:0");
  const Site here;
  const Nanoseconds before = now();
  blocked_by(gate, [&] { x.sync({}, here); });
  const Nanoseconds from = now();
  while (now() - from < 2'000'000) {}  // the host is busy with something else
  EXPECT_EQ(at(here).device_idle, 0) << "not over yet";
  const Tensor next = x + 1;
  const Nanoseconds to = now();
  EXPECT_GE(at(here).device_idle, 2'000'000);
  EXPECT_LE(at(here).device_idle, to - before);
  next.sync();
}

TEST(Ledger, ChargesNoIdleTimeWhileAnotherStreamOfTheDeviceWorks) {
  simulate_gpus(1, {.workers = 2});
  const DeviceScope on("GPU:0");
  Gate other;
  const Stream side("GPU:0");
  {
    const StreamScope use(side);
    (void)other.close("GPU:0");
  }
  Gate gate;
  const Tensor x = gate.close("GPU:0");
  const Site here;
  blocked_by(gate, [&] { x.sync({}, here); });
  other.open();
  sync_devices();
  (void)(x + 1);
  EXPECT_EQ(at(here).device_idle, 0);
}

TEST(Ledger, TellsAValueTheHostMadeFromOneThatWasQueued) {
  simulate_gpus(1);
  const Site made_here;
  const Site queued;
  const DeviceScope cpu("CPU:0");
  (void)item<float>(ones({}) + 1, made_here);
  const DeviceScope gpu("GPU:0");
  (void)item<float>(ones({}) + 1, queued);
  EXPECT_EQ(at(made_here).nothing_queued, 1U);
  EXPECT_EQ(at(queued).nothing_queued, 0U);
}

TEST(Ledger, KnowsThatAPointWasSyncedBeforeAndWhere) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({4}) + 1;
  const Site first;
  const Site second;
  const Site third;
  synchronize("GPU:0", {}, first);
  synchronize("GPU:0", {}, second);
  EXPECT_EQ(at(first).already_synced, 0U);
  EXPECT_EQ(at(second).already_synced, 1U);
  EXPECT_EQ(at(second).synced_before_at, first);
  const Tensor y = x + 1;
  synchronize("GPU:0", {}, third);
  EXPECT_EQ(at(third).already_synced, 0U) << "there was new work";
}

TEST(Ledger, KnowsThatAValueWasEnqueuedBeforeTheThreadsPreviousRead) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor a = ones({}) + 1;
  const Tensor b = ones({}) + 2;
  const Site first;
  const Site second;
  const Site third;
  (void)item<float>(a, first);
  (void)item<float>(b, second);
  const Tensor c = a + b;
  (void)item<float>(c, third);
  EXPECT_EQ(at(first).in_a_row, 0U);
  EXPECT_EQ(at(second).in_a_row, 1U);
  EXPECT_EQ(at(second).previous_read_at, first);
  EXPECT_EQ(at(third).in_a_row, 0U) << "it was enqueued afterwards";
}

TEST(Ledger, TakesTheIntentFromTheCallOrFromTheFunction) {
  const Tensor x = ones({});
  const Site here;
  (void)item<float>(x, Intent::log, here);
  (void)to_string(x, here);
  (void)item<bool>(x > 0, here);
  const SyncTotals entry = at(here);
  EXPECT_EQ(entry.stated[static_cast<std::size_t>(Intent::log)], 1U);
  EXPECT_EQ(entry.stated[static_cast<std::size_t>(Intent::print)], 1U);
  EXPECT_EQ(entry.stated[static_cast<std::size_t>(Intent::branch)], 1U);
}

TEST(Ledger, NamesTheOpWhoseTensorWasSynced) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site here;
  (ones({4}) + 1).sync({}, here);
  const SyncTotals synced = at(here);
  EXPECT_EQ(synced.reason, SyncReason::tensor_sync);
  EXPECT_STREQ(synced.op, "AddV2");
}

}  // namespace tutti
