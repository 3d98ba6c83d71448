// Nothing but the door blocks the host, and a kernel that would have to wait is refused.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "door/blocking_calls.h"
#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;

// What a kernel is to do, and what it met.
struct InKernel {
  std::function<void()> action;
  std::string met = "nothing was thrown";
};

const OpRow& in_kernel_row() {
  static const Kernel act = [](const KernelCall& call, KernelContext&) {
    auto& what = *call.attributes->as<InKernel*>();
    try {
      what.action();
    } catch (const InvalidState& e) {
      what.met = "InvalidState";
    } catch (const std::exception& e) {
      what.met = e.what();
    }
    *call.out().as<float>() = 1;
  };
  static const Infer infer = [](Inference& in) { in.output(DType::f32, Shape{}); };
  static const OpRow& row = register_op({.name = "TestInKernel", .infer = infer}, {.cpu = act, .sim = act});
  return row;
}

std::string met_in_kernel(std::function<void()> action) {
  InKernel what{std::move(action)};
  const Tensor done = call_op(in_kernel_row(), std::vector<Tensor>{}, Attributes(&what)).at(0);
  EXPECT_EQ(item<float>(done), 1) << "the kernel came to its end";
  return what.met;
}

void work_without_reading(const std::vector<std::string>& devices) {
  Tensor x;
  Variable v(zeros({1000}));
  for (int i = 0; i < 40; ++i) {
    for (const std::string& name : devices) {
      const DeviceScope on(name);
      Stream stream(name);
      const StreamScope in(stream);
      x = x.is_defined() ? x + 1 : ones({1000});
      x = multiply(std::move(x), 0.5);
      const Tensor other = matmul(ones({32, 32}), full({32, 32}, i, DType::f32));
      x = x + sum(other);
      (void)copy_to(x, devices.front());
      (void)take(x, constant({std::int64_t{1}}));
      (void)uniform({100 * i + 1});
      (void)read_async<float>(sum(x));
      v.assign_add(x);
      v.assign(x);
      Event event;
      event.record(stream);
      stream.wait(event);
      (void)memory_info(name);
    }
  }
}

}  // namespace

TEST(OnlyTheDoor, BlocksTheHost) {
  simulate_gpus(2, {.workers = 1});
  list_logical_devices();  // starts the threads
  const std::uint64_t before = blocking_calls::of_this_thread();
  const std::uint64_t outside_before = blocking_calls::outside_the_door();
  work_without_reading({"GPU:0", "GPU:1"});
  EXPECT_EQ(blocking_calls::outside_the_door(), outside_before);
  // Where the host got too far ahead it waited: through the door, as flow, and that is all it waited for.
  std::uint64_t blocked = 0;
  for (const SyncTotals& each : sync_totals()) {
    EXPECT_FALSE(is_demand(each.reason)) << to_string(each.reason) << " at " << each.site.to_string();
    blocked += each.blocked;
  }
  const bool waited = blocking_calls::of_this_thread() > before;
  EXPECT_TRUE(!waited || blocked > 0) << "a wait behind the door is in the ledger";
  EXPECT_EQ(sync_counts().demand, 0U);
}

TEST(OnlyTheDoor, BlocksAndSaysSo) {
  simulate_gpus(1);
  Gate gate;
  const Tensor x = copy_to(gate.close("GPU:0"), "CPU:0");
  const std::uint64_t before = blocking_calls::of_this_thread();
  std::jthread opener([&] {
    while (blocking_calls::asleep() == 0) std::this_thread::yield();
    gate.open();
  });
  {
    const blocking_calls::Watch watch;
    (void)item<float>(x);
  }
  EXPECT_GE(blocking_calls::of_this_thread(), before + 1) << "the interposed calls are seen";
  EXPECT_EQ(sync_counts().demand_blocked, 1U);
}

TEST(OnlyTheDoor, IsPassedByNoOpOfAFreshProgram) {
  simulate_gpus(1);
  list_logical_devices();
  const std::uint64_t before = blocking_calls::of_this_thread();
  const DeviceScope on("GPU:0");
  const Tensor x = matmul(ones({64, 64}), ones({64, 64})) * 2 + 1;
  EXPECT_EQ(blocking_calls::of_this_thread(), before);
  EXPECT_EQ(sync_counts().demand, 0U);
  EXPECT_EQ(item<float>(slice(slice(x, 0, {.start = 0, .stop = 1}), 1, {.start = 0, .stop = 1})), 129);
}

TEST(InsideAKernel, WaitingAndCallingOpsIsRefusedOnASimulatedGpu) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({});
  Variable v(ones({}));
  EXPECT_EQ(met_in_kernel([&] { (void)item<float>(x); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { (void)add(x, 1); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { (void)constant(1.F); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { (void)copy_to(x, "CPU:0"); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { v.assign_add(1); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { v.assign(2); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { sync_devices(); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { default_stream("GPU:0").sync(); }), "InvalidState");
  EXPECT_EQ(item<float>(v.value() + x), 2) << "all is well afterwards";
}

TEST(InsideAKernel, WaitingAndCallingOpsIsRefusedOnTheCpu) {
  for (const bool synchronous : {true, false}) {
    SCOPED_TRACE(synchronous);
    set_synchronous_execution(synchronous);
    const DeviceScope on("CPU:0");
    const Tensor x = ones({});
    EXPECT_EQ(met_in_kernel([&] { (void)add(x, 1); }), "InvalidState");
    EXPECT_EQ(met_in_kernel([&] { (void)constant(1.F); }), "InvalidState");
    EXPECT_EQ(met_in_kernel([&] { (void)copy_to(x, "CPU:0"); }), "InvalidState");
  }
  set_synchronous_execution(false);
  EXPECT_EQ(met_in_kernel([&] { sync_devices(); }), "InvalidState") << "it would wait for itself";
}

TEST(InsideAKernel, UnderTheSteppedSchedulerItIsRefusedToo) {
  simulate_gpus(1, {.driver = SimulationDriver::stepped, .seed = 3});
  const DeviceScope on("GPU:0");
  const Tensor x = ones({});
  EXPECT_EQ(met_in_kernel([&] { (void)item<float>(x); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { sync_devices(); }), "InvalidState");
  EXPECT_EQ(met_in_kernel([&] { (void)Tensor(x); }), "nothing was thrown");
}

}  // namespace tutti
