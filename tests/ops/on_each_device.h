// Tests of ops that hold on the CPU and on a simulated GPU alike.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tutti/tutti.h"

namespace tutti::testing_ops {

class OnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    simulate_gpus(1);
    scope_.emplace(GetParam());
  }

 private:
  std::optional<DeviceScope> scope_;
};

inline auto each_device() { return testing::Values("CPU:0", "GPU:0"); }
inline std::string name_of_device(const testing::TestParamInfo<const char*>& device) {
  return std::string(device.param).substr(0, 3);
}

}  // namespace tutti::testing_ops
