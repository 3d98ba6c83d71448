// The GPU under test: opened by the fixture; where there is none, the test is skipped by name.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "tutti/tutti.h"

namespace tutti::testing_cuda {

// The first GPU, if it is CUDA's. Simulated ones asked for from outside would hide it.
inline std::optional<PhysicalDevice> find_gpu() {
  simulate_gpus(0);
  const std::vector<PhysicalDevice> gpus = list_physical_devices("GPU");
  if (gpus.empty() || get_device_details(gpus.front()).backend != "cuda") return std::nullopt;
  return gpus.front();
}

// Ops run on GPU:0 unless the test says otherwise. Nothing has used the GPU before the test's own body.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    gpu_ = find_gpu();
    if (!gpu_) GTEST_SKIP() << "no CUDA GPU here";
    configure(*gpu_);
    scope_.emplace("GPU:0");
  }
  // Before first use.
  virtual void configure(const PhysicalDevice&) {}
  [[nodiscard]] const PhysicalDevice& gpu() const { return *gpu_; }

 private:
  std::optional<PhysicalDevice> gpu_;
  std::optional<DeviceScope> scope_;
};

// Differs from run to run, and is said, unless TUTTI_TEST_SEED repeats an earlier one.
inline std::uint64_t fresh_seed() {
  const char* given = std::getenv("TUTTI_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "TUTTI_TEST_SEED=" << seed << '\n';
  return seed;
}

// True once the condition holds; false when it does not within the time.
template <class Condition>
bool comes_true(const Condition& condition, std::chrono::milliseconds within = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tutti::testing_cuda
