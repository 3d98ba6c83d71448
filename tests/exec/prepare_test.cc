// What a kernel prepares comes before the stream's lock: it keeps nobody else from the stream.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tutti/exec/op_table.h"
#include "tutti/hal/device_stream.h"
#include "tutti/tutti.h"

#include "memory/hand_device.h"

namespace tutti {
namespace {

struct Log {
  std::atomic<int> prepared{0};
  std::atomic<int> ran{0};
  std::atomic<bool> is_held{false};  // prepare waits while it is
  std::atomic<bool> throws{false};
};

void prepare(const KernelCall& call, KernelContext& context) {
  auto* log = call.attributes->as<Log*>();
  EXPECT_NE(context.stream, nullptr);
  EXPECT_EQ(log->ran, log->prepared) << "before the launch";
  ++log->prepared;
  log->prepared.notify_all();
  log->is_held.wait(true);
  if (log->throws) throw std::runtime_error("not prepared");
}

void run(const KernelCall& call, KernelContext&) {
  auto* log = call.attributes->as<Log*>();
  ++log->ran;
  if (log->throws) throw std::runtime_error("not prepared");
  *call.out().as<float>() = 5;
}

class KernelPrepare : public testing::Test {
 protected:
  KernelPrepare() {
    simulate_gpus(1);
    register_op({.name = "Prepared", .infer = [](Inference& in) { in.output(DType::f32, {}); }});
    register_kernel("Prepared", BackendKind::sim, run, nullptr, any_dtype, prepare);
  }
  static Tensor call(Log& log) {
    const DeviceScope on("GPU:0");
    return call_op("Prepared", {}, Attributes(&log))[0];
  }
};

TEST_F(KernelPrepare, ComesOnceBeforeEachLaunch) {
  Log log;
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(item<float>(call(log)), 5);
    EXPECT_EQ(log.prepared, i);
    EXPECT_EQ(log.ran, i);
  }
}

TEST_F(KernelPrepare, KeepsNobodyElseFromTheStream) {
  Log slow;
  slow.is_held = true;
  Stream stream("GPU:0");
  std::jthread first([&] {
    const StreamScope on(stream);
    EXPECT_EQ(item<float>(call(slow)), 5);
  });
  slow.prepared.wait(0);
  {
    const DeviceScope on("GPU:0");
    const StreamScope in(stream);
    EXPECT_EQ(item<float>(sum(ones({10}) + 1)), 20) << "through the same stream, while the other prepares";
  }
  stream.sync();
  EXPECT_EQ(slow.ran, 0);
  slow.is_held = false;
  slow.is_held.notify_all();
  first.join();
  EXPECT_EQ(slow.ran, 1);
}

TEST_F(KernelPrepare, ThatThrowsLeavesItToTheLaunchToSay) {
  Log log;
  log.throws = true;
  const Tensor failed = call(log);
  EXPECT_THROW((void)item<float>(failed), KernelFailed);
  EXPECT_EQ(log.ran, 1);
}

// A stream that has something to open.
class LateStream final : public DeviceStream {
 public:
  explicit LateStream(Device& device) : DeviceStream(device, {}) { set_prepared(false); }
  [[nodiscard]] TimelinePoint full_until(std::uint64_t) const override { return {}; }
  TimelinePoint submit(const Work&, std::span<const TimelinePoint>) override { return {}; }
  void kick() override {}
  bool block_until(std::uint64_t, Deadline) override { return true; }
  void cancel() override {}
  [[nodiscard]] std::vector<PendingWork> pending() const override { return {}; }
  int attempts = 0;

 private:
  void prepare_slowly(Site) override {
    if (++attempts == 1) throw std::runtime_error("no context yet");
    set_prepared(true);
  }
};

TEST(StreamPrepare, IsTriedUntilItSucceedsAndThenNoMore) {
  HandDevice device;
  LateStream stream(device);
  EXPECT_THROW(stream.prepare(Site{}), std::runtime_error);
  for (int i = 0; i < 3; ++i) stream.prepare(Site{});
  EXPECT_EQ(stream.attempts, 2);
}

}  // namespace
}  // namespace tutti
