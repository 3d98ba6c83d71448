// Work that waits for other processes has a thread of its own: it holds up nobody else.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

// More than the device has workers.
std::size_t many() { return 2 * std::thread::hardware_concurrency() + 2; }

}  // namespace

TEST(BlockingStream, HoldsUpNoOtherWorkOfItsDevice) {
  set_synchronous_execution(false);
  std::vector<testing_streams::Gate> gates(many());
  std::vector<Tensor> held;
  for (testing_streams::Gate& gate : gates) {
    const StreamScope on(Stream("CPU:0", {.may_block = true}));
    held.push_back(gate.close("CPU:0"));
    gate.await_entered();
  }
  EXPECT_EQ(item<float>(sum(ones({1000}))), 1000);
  for (testing_streams::Gate& gate : gates) gate.open();
  for (const Tensor& each : held) EXPECT_EQ(item<float>(each), 1);
}

TEST(BlockingStream, RunsAnOpThatMayBlockAlsoInSynchronousExecution) {
  static const Kernel where = [](const KernelCall& call, KernelContext& context) {
    *call.out().as<bool>() = context.stream != nullptr;
  };
  static const Infer infer = [](Inference& in) { in.output(DType::boolean, Shape{}); };
  const OpRow& patient = register_op({.name = "TestPatient", .infer = infer, .may_block = true}, {.cpu = where});
  const OpRow& quick = register_op({.name = "TestQuick", .infer = infer}, {.cpu = where});
  const DeviceScope on("CPU:0");
  const std::vector<Tensor> nothing;
  EXPECT_TRUE(item<bool>(call_op(patient, nothing).at(0)));
  EXPECT_FALSE(item<bool>(call_op(quick, nothing).at(0))) << "the caller runs what cannot block";
}

TEST(BlockingStream, EndsWithItsWorkWhenTheProgramEnds) {
  set_synchronous_execution(false);
  static testing_streams::Gate gate;
  EXPECT_EXIT(
      {
        const StreamScope on(Stream("CPU:0", {.may_block = true}));
        (void)gate.close("CPU:0");
        gate.await_entered();
        gate.open();
        (void)ones({10});
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace tutti
