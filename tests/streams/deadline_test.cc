// Syncs with a timeout end in time, say what is still pending, and leave it running.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;
using namespace std::chrono_literals;

template <class Sync>
std::string deadline_text(const Sync& sync) {
  try {
    sync();
  } catch (const DeadlineExceeded& e) {
    return e.what();
  }
  return "it did not time out";
}

}  // namespace

TEST(Deadline, ListsOpLineAndAgeOfWhatIsPendingAndLeavesItRunning) {
  simulate_gpus(2);
  Stream stream("GPU:1");
  Gate gate;
  const Site gate_line;
  Tensor gated;
  Tensor after;
  {
    const StreamScope in(stream);
    const DeviceScope on("GPU:1");
    gated = gate.close("GPU:1", gate_line);
    after = gated * 2;
  }
  gate.await_entered();
  for (const std::string& text :
       {deadline_text([&] { stream.sync({.timeout = 5ms}); }), deadline_text([&] { sync_devices({.timeout = 5ms}); }),
        deadline_text([&] { synchronize("GPU:1", {.timeout = 0ms}); }), deadline_text([&] { after.sync({.timeout = 5ms}); })}) {
    EXPECT_NE(text.find("TestGate (running)"), std::string::npos) << text;
    EXPECT_NE(text.find("multiply, submitted "), std::string::npos) << text;
    EXPECT_NE(text.find(gate_line.to_string()), std::string::npos) << text;
    EXPECT_NE(text.find("device:GPU:1: 2 pending"), std::string::npos) << text;
    EXPECT_NE(text.find(" ms ago"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(synchronize("GPU:0", {.timeout = 1s})) << "the other device has nothing to do";
  gate.open();
  EXPECT_EQ(item<float>(after), 2);
  EXPECT_NO_THROW(sync_devices({.timeout = 10s}));
}

TEST(Deadline, OfAnEventAndOfAStalledStream) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  const DeviceScope on("GPU:0");
  const StreamScope in(stream);
  inject_fault({.kind = FaultKind::stall});
  const Tensor x = ones({3}) + 1;
  Event event;
  event.record(stream);
  const std::string text = deadline_text([&] { event.sync({.timeout = 5ms}); });
  EXPECT_NE(text.find("ones, submitted "), std::string::npos) << text;
  EXPECT_EQ(text.find("(running)"), std::string::npos) << "it stands still: " << text;
  clear_faults();
  event.sync({.timeout = 10s});
  EXPECT_EQ(read<float>(x), std::vector<float>(3, 2));
}

TEST(Deadline, OfAStalledStreamHoldsUnderTheSteppedSchedulerToo) {
  simulate_gpus(1, {.driver = SimulationDriver::stepped, .seed = 6});
  const DeviceScope on("GPU:0");
  inject_fault({.kind = FaultKind::stall});
  const Tensor x = ones({3}) + 1;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(sync_devices({.timeout = 2ms}), DeadlineExceeded) << i;
  EXPECT_FALSE(x.is_ready());
  clear_faults();
  EXPECT_EQ(read<float>(x), std::vector<float>(3, 2));
}

TEST(Deadline, OfALongQueueIsShort) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Gate gate;
  Tensor x = gate.close("GPU:0");
  for (int i = 0; i < 100; ++i) x = x + 1;
  const std::string text = deadline_text([&] { sync_devices({.timeout = 1ms}); });
  EXPECT_NE(text.find("101 pending"), std::string::npos) << text;
  EXPECT_NE(text.find("more"), std::string::npos) << text;
  EXPECT_LT(text.size(), 3000U);
  gate.open();
  EXPECT_EQ(item<float>(x), 101);
}

TEST(Sync, ThatIsInTimeReturnsAtOnceEvenWithALongTimeout) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({3});
  sync_devices({.timeout = 1h});
  EXPECT_TRUE(x.is_ready());
  synchronize();
  synchronize("GPU:0");
  x.sync({.timeout = 1h});
}

TEST(Sync, OfADeviceWaitsForAllItsStreamsAndNoOther) {
  simulate_gpus(2);
  std::vector<Stream> streams;
  std::vector<Tensor> results;
  for (int i = 0; i < 6; ++i) {
    streams.emplace_back("GPU:0");
    const StreamScope in(streams.back());
    const DeviceScope on("GPU:0");
    results.push_back(matmul(ones({64, 64}), ones({64, 64})));
  }
  Gate gate;
  const Tensor elsewhere = gate.close("GPU:1");
  synchronize("GPU:0");
  for (const Tensor& each : results) EXPECT_TRUE(each.is_ready());
  EXPECT_FALSE(elsewhere.is_ready());
}

TEST(Sync, OfAStreamThrowsItsOwnFailureOnly) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Stream good("GPU:0");
  Stream bad("GPU:0");
  {
    const StreamScope in(bad);
    (void)take(ones({2}), constant({std::int64_t{9}}));
  }
  {
    const StreamScope in(good);
    (void)ones({2});
  }
  EXPECT_NO_THROW(good.sync());
  EXPECT_THROW(bad.sync(), KernelFailed);
  EXPECT_NO_THROW(bad.sync()) << "reported once";
}

TEST(Deadline, SaysHowLongWasWaitedInAUnitThatFits) {
  simulate_gpus(1);
  Gate gate;
  const Tensor held = gate.close("GPU:0");
  EXPECT_NE(deadline_text([&] { held.sync({.timeout = 500us}); }).find("did not end within 500.0 us;"), std::string::npos);
  EXPECT_NE(deadline_text([&] { held.sync({.timeout = 20ms}); }).find("did not end within 20.0 ms;"), std::string::npos);
  EXPECT_NE(deadline_text([&] { held.sync({.timeout = -1s}); }).find("did not end within 0 ns;"), std::string::npos);
}

TEST(Deadline, WorkThatWasJustSubmittedIsNotSaidToBeZeroMillisecondsOld) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  Gate gate;
  Tensor x = gate.close("GPU:0");
  for (int i = 0; i < 6; ++i) {  // one of them within a tick of the coarse clock
    x = x + 1;
    const std::string text = deadline_text([&] { synchronize("GPU:0", {.timeout = 0ms}); });
    EXPECT_NE(text.find(", submitted "), std::string::npos) << text;
    EXPECT_EQ(text.find("submitted 0 "), std::string::npos) << text;
  }
  gate.open();
  EXPECT_EQ(item<float>(x), 7);
}

TEST(Deadline, TheLongestTimeoutThereIsMeansForEver) {
  simulate_gpus(1);
  const SyncOptions for_ever{.timeout = std::chrono::nanoseconds::max()};
  Stream stream("GPU:0");
  const Mesh mesh = create_mesh({{"x", 1}}, {"GPU:0"});
  const auto waits = [&](const std::function<void(const Tensor&)>& sync) {
    Gate gate;
    const StreamScope in(stream);
    const Tensor held = gate.close("GPU:0");
    const std::uint64_t before = sync_counts().demand;
    std::jthread opener([&] {
      while (sync_counts().demand == before) std::this_thread::yield();  // until it has come to the door
      gate.open();
    });
    EXPECT_NO_THROW(sync(held));
    EXPECT_TRUE(held.is_ready());
  };
  waits([&](const Tensor& held) { held.sync(for_ever); });
  waits([&](const Tensor&) { stream.sync(for_ever); });
  waits([&](const Tensor&) {
    Event event;
    event.record(stream);
    event.sync(for_ever);
  });
  waits([&](const Tensor&) { synchronize("GPU:0", for_ever); });
  waits([&](const Tensor&) { sync_devices(for_ever); });
  waits([&](const Tensor&) { barrier(mesh, {.name = "all", .timeout = std::chrono::nanoseconds::max()}); });
}

TEST(Deadline, OfAnAllocationThatNeedsTheMemoryOfAStalledStream) {
  ::setenv("TUTTI_STALL_TIMEOUT", "20ms", 1);
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  const DeviceScope on("GPU:0");
  inject_fault({.kind = FaultKind::stall});
  (void)ones({8 << 20});  // let go of at once, but its kernel never runs
  try {
    (void)ones({12 << 20});
    ADD_FAILURE() << "there was room for it";
  } catch (const OutOfMemory& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("nothing was finished for 20.0 ms (TUTTI_STALL_TIMEOUT)"), std::string::npos) << text;
    EXPECT_NE(text.find("device:GPU:0: 1 pending"), std::string::npos) << text;
    EXPECT_NE(text.find("ones, submitted "), std::string::npos) << text;
  }
  clear_faults();
  ::unsetenv("TUTTI_STALL_TIMEOUT");
  EXPECT_EQ(item<float>(sum(ones({12 << 20}))), 12 << 20) << "the runtime goes on";
}

}  // namespace tutti
