// Host and workers share one core: whoever looks for work gives way to whoever brings it.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace std::chrono_literals;

// Every thread there is: by now the workers have counted the cores they may use.
void confine_to_one_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ASSERT_EQ(sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set), 0) << task.path();
  }
}

}  // namespace

TEST(OneCore, StreamsOfEveryDeviceGetTheirWorkDoneAndTheHostWakes) {
  simulate_gpus(2);
  set_synchronous_execution(false);
  sync_devices();
  confine_to_one_core();
  for (int i = 0; i < 50; ++i) {
    for (const char* device : {"GPU:0", "GPU:1", "CPU:0"}) {
      const DeviceScope on(device);
      EXPECT_EQ(item<float>(sum(full({1000}, 2.F, DType::f32) + 1.F)), 3000.F);
    }
  }
}

TEST(OneCore, KernelsThatSpreadOverCoresEnd) {
  const Tensor large = ones({1 << 20});
  EXPECT_EQ(item<float>(sum(large)), 1.F * (1 << 20));
  confine_to_one_core();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(item<float>(sum(large + large)), 2.F * (1 << 20));
}

TEST(OneCore, ADeadlinePassesAndTheWaitCanBeTriedAgain) {
  simulate_gpus(1);
  testing_streams::Gate gate;
  const Tensor held = gate.close("GPU:0");
  confine_to_one_core();
  for (int i = 0; i < 20; ++i) EXPECT_THROW(held.sync({.timeout = 1ms}), DeadlineExceeded);
  gate.open();
  held.sync();
}

}  // namespace tutti
