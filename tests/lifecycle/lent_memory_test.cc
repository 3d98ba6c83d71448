// Host memory lent to the runtime: used in place, given back exactly once, after its last use.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "streams/gate.h"

namespace tutti {

namespace {
using testing_streams::Gate;
}

TEST(LentMemory, IsUsedInPlace) {
  std::vector<float> memory{1, 2, 3, 4};
  const Tensor x = wrap_host_memory(memory.data(), DType::f32, {2, 2}, {});
  const DeviceScope on("CPU:0");
  EXPECT_EQ(x.impl().address(), reinterpret_cast<std::byte*>(memory.data()));
  EXPECT_EQ(read<float>(transpose(x)), (std::vector<float>{1, 3, 2, 4}));
}

TEST(LentMemory, IsGivenBackOnceWithItsLastOwner) {
  simulate_gpus(1);
  std::vector<float> memory(8, 1);
  int given_back = 0;
  Tensor x = wrap_host_memory(memory.data(), DType::f32, {8}, [&] { ++given_back; });
  Tensor copy = x;
  Tensor view = slice(x, 0, {.start = 2, .stop = {}});
  x = {};
  copy = {};
  EXPECT_EQ(given_back, 0) << "a view is an owner";
  view = {};
  EXPECT_EQ(given_back, 1);
  sync_devices();
  EXPECT_EQ(given_back, 1);
}

TEST(LentMemory, IsNotGivenBackWhileADeviceStillReadsIt) {
  simulate_gpus(1);
  std::vector<float> memory(8, 3);
  std::atomic<int> given_back = 0;
  Gate gate;
  Tensor result;
  {
    const DeviceScope on("GPU:0");
    gate.close("GPU:0");
    const Tensor x = wrap_host_memory(memory.data(), DType::f32, {8}, [&] {
      std::fill(memory.begin(), memory.end(), -1.F);
      ++given_back;
    });
    result = x * 2;
  }
  EXPECT_EQ(given_back, 0) << "the copy to the GPU has not run";
  gate.open();
  EXPECT_EQ(read<float>(result), std::vector<float>(8, 6));
  sync_devices();
  EXPECT_EQ(given_back, 1);
}

TEST(LentMemory, IsNotWrittenByAnOpThatConsumesIt) {
  std::vector<float> memory(4, 1);
  const DeviceScope on("CPU:0");
  Tensor x = wrap_host_memory(memory.data(), DType::f32, {4}, {});
  const Tensor kept = x;
  const Tensor y = add(std::move(x), 1);
  EXPECT_EQ(memory, std::vector<float>(4, 1));
  EXPECT_EQ(read<float>(y), std::vector<float>(4, 2));
}

TEST(LentMemory, IsNotTakenOverForAResultEvenWhenNobodyElseHoldsTheTensor) {
  std::vector<float> memory(4, 1);
  const DeviceScope on("CPU:0");
  const Tensor y = wrap_host_memory(memory.data(), DType::f32, {4}, {}) * 3 + 1;
  EXPECT_EQ(memory, std::vector<float>(4, 1));
  EXPECT_EQ(read<float>(y), std::vector<float>(4, 4));
}

TEST(LentMemory, ACallbackThatThrowsIsLoggedAndNothingElse) {
  simulate_gpus(1);
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  std::vector<float> memory(4, 1);
  {
    const Tensor x = wrap_host_memory(memory.data(), DType::f32, {4}, [] { throw std::runtime_error("no thanks"); });
  }
  {
    const Tensor x = wrap_host_memory(memory.data(), DType::f32, {4}, [] { throw 5; });
  }
  {
    Gate gate;
    const DeviceScope on("GPU:0");
    gate.close("GPU:0");
    (void)(wrap_host_memory(memory.data(), DType::f32, {4}, [] { throw std::runtime_error("not here either"); }) + 1);
  }
  sync_devices();
  set_log_sink({});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("no thanks"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("lent_memory_test.cc"), std::string::npos) << lines[0];
  EXPECT_NE(lines[2].find("not here either"), std::string::npos) << lines[2];
  EXPECT_EQ(item<float>(ones({})), 1);
}

TEST(LentMemory, RefusesWhatCannotBeUsed) {
  std::vector<double> memory(4, 1);
  bool called = false;
  EXPECT_THROW((void)wrap_host_memory(nullptr, DType::f32, {4}, [&] { called = true; }), InvalidArgument);
  EXPECT_THROW((void)wrap_host_memory(reinterpret_cast<char*>(memory.data()) + 1, DType::f64, {3}, [&] { called = true; }),
               InvalidArgument);
  EXPECT_FALSE(called) << "it was never lent";
  EXPECT_TRUE(read<float>(wrap_host_memory(nullptr, DType::f32, {0}, {})).empty());
}

}  // namespace tutti
