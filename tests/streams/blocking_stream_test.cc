// Work that waits for other processes has a thread of its own: it holds up nobody else.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

// More than the device has workers.
std::size_t many() { return 2 * std::thread::hardware_concurrency() + 2; }

using namespace std::chrono_literals;

// Who ran a kernel last, and how many have run.
struct Ran {
  std::atomic<pid_t> by{0};
  std::atomic<int> count{0};
};

Tensor note_who_runs(Ran& ran) {
  static const Kernel note = [](const KernelCall& call, KernelContext&) {
    auto* const into = call.attributes->as<Ran*>();
    into->by = ::gettid();
    into->count.fetch_add(1);
    *call.out().as<float>() = 1;
  };
  static const Infer infer = [](Inference& in) { in.output(DType::f32, Shape{}); };
  static const OpRow& row = register_op({.name = "TestWhoRuns", .infer = infer, .may_block = true}, {.cpu = note});
  const DeviceScope on("CPU:0");
  return call_op(row, std::vector<Tensor>{}, Attributes(&ran)).at(0);
}

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

// Waking its thread, and being woken by it, takes far longer than most of what it does.
TEST(BlockingStream, IsRunByTheHostThatWaitsForItWhereNobodyDoesYet) {
  Ran ran;
  const StreamScope on(Stream("CPU:0", {.may_block = true}));
  int tries = 0;
  do {
    EXPECT_EQ(item<float>(note_who_runs(ran)), 1);
  } while (ran.by != ::gettid() && ++tries < 10'000);
  EXPECT_EQ(ran.by, ::gettid()) << "in " << tries << " tries";
}

TEST(BlockingStream, IsNotRunByAHostThatHasADeadline) {
  Ran ran;
  Stream stream("CPU:0", {.may_block = true});
  const StreamScope on(stream);
  for (int i = 0; i < 200; ++i) {
    (void)note_who_runs(ran);
    stream.sync({.timeout = 60s});
    ASSERT_NE(ran.by, ::gettid()) << "it could not leave the work at its deadline";
  }
}

TEST(BlockingStream, LosesNoWorkBetweenItsThreadAndHostsThatComeAndGo) {
  constexpr int threads = 4;
  constexpr int each = 2'000;
  simulate_gpus(1);
  Ran ran;
  Stream stream("CPU:0", {.may_block = true});
  {
    std::vector<std::jthread> hosts;
    for (int host = 0; host < threads; ++host) {
      hosts.emplace_back([&, host] {
        const StreamScope on(stream);
        for (int i = 0; i < each; ++i) {
          const Tensor x = note_who_runs(ran);
          if (i % (host + 2) == 0) {
            EXPECT_EQ(item<float>(x), 1);
          }
          if (i % 7 == host) {  // it also waits for other devices
            const DeviceScope cpu("CPU:0");
            EXPECT_EQ(item<float>(copy_to(copy_to(x, "GPU:0") + 1, "CPU:0") + x), 3);
          }
        }
      });
    }
  }
  stream.sync();
  EXPECT_EQ(ran.count, threads * each);
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
