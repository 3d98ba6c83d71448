// Configuration from outside: what the environment says, and what becomes of a variable that says nothing sensible.
#include <gtest/gtest.h>

#include <cstdlib>

#include "place/captured_log.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

void set(const char* variable, const char* value) { ASSERT_EQ(::setenv(variable, value, 1), 0); }

// These tests say what the environment holds; what it held before must not matter.
struct CleanEnvironment : testing::Test {
  CleanEnvironment() {
    for (const char* variable :
         {"TUTTI_SIM_GPUS", "TUTTI_SIM_MEMORY", "TUTTI_SIM_DRIVER", "TUTTI_SIM_SEED", "CUDA_VISIBLE_DEVICES",
          "TUTTI_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH", "TUTTI_FORCE_GPU_ALLOW_GROWTH"}) {
      ::unsetenv(variable);
    }
  }
  CapturedLog log;
};
using Environment = CleanEnvironment;

TEST_F(Environment, SimulatesGpus) {
  set("TUTTI_SIM_GPUS", "3");
  set("TUTTI_SIM_MEMORY", "48MiB");
  ASSERT_EQ(list_physical_devices("GPU").size(), 3U);
  EXPECT_EQ(get_device_details(list_physical_devices("GPU")[2]).memory_bytes, MiB(48));
  EXPECT_EQ((ones({2}) * 2).device(), "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_TRUE(log.texts().empty()) << log.texts().front();
}

TEST_F(Environment, GivesWayToWhatTheProgramSimulates) {
  set("TUTTI_SIM_GPUS", "3");
  simulate_gpus(1);
  EXPECT_EQ(list_physical_devices("GPU").size(), 1U);
}

TEST_F(Environment, BadValuesAreReportedOnceAndIgnored) {
  set("TUTTI_SIM_GPUS", "four");
  set("TUTTI_SIM_MEMORY", "lots");
  set("TUTTI_SIM_DRIVER", "magic");
  set("TF_FORCE_GPU_ALLOW_GROWTH", "maybe");
  set("TUTTI_VISIBLE_DEVICES", "0,x");
  list_physical_devices();
  list_logical_devices();
  simulate_gpus(0);
  list_physical_devices();
  EXPECT_EQ(log.count("TUTTI_SIM_GPUS='four' is ignored: a whole number from 0 to 64 expected"), 1U);
  EXPECT_EQ(log.count("TUTTI_SIM_MEMORY='lots' is ignored"), 1U);
  EXPECT_EQ(log.count("TUTTI_SIM_DRIVER"), 1U);
  EXPECT_EQ(log.count("TUTTI_VISIBLE_DEVICES='0,x' is ignored"), 1U);
  EXPECT_TRUE(list_physical_devices("GPU").empty());
}

TEST_F(Environment, TooLittleSimulatedMemoryIsReportedAndIgnored) {
  set("TUTTI_SIM_GPUS", "1");
  set("TUTTI_SIM_MEMORY", "1000");
  EXPECT_GE(get_device_details(list_physical_devices("GPU").at(0)).memory_bytes, MiB(2));
  EXPECT_EQ(log.count("TUTTI_SIM_MEMORY"), 1U);
  EXPECT_EQ(item<float>(sum(ones({100}))), 100.F);
}

TEST_F(Environment, BadGrowthIsReportedOnceHoweverOftenItIsLookedAt) {
  set("TUTTI_SIM_GPUS", "2");
  set("TF_FORCE_GPU_ALLOW_GROWTH", "maybe");
  for (const PhysicalDevice& gpu : list_physical_devices("GPU")) {
    set_memory_growth(gpu, false);
    EXPECT_FALSE(get_memory_growth(gpu));
  }
  list_logical_devices();
  EXPECT_EQ(log.count("TF_FORCE_GPU_ALLOW_GROWTH='maybe' is ignored"), 1U);
}

TEST_F(Environment, TuttiVisibleDevicesChoosesAndOrders) {
  set("TUTTI_VISIBLE_DEVICES", "2,0");
  simulate_gpus(4);
  EXPECT_EQ(list_physical_devices("GPU").size(), 2U);
  EXPECT_EQ(list_logical_devices("GPU").size(), 2U);
  EXPECT_TRUE(log.texts().empty());
}

TEST_F(Environment, CudaVisibleDevicesHidesNoSimulatedGpu) {
  for (const char* real : {"", "-1", "1", "7,x"}) {
    set("CUDA_VISIBLE_DEVICES", real);
    simulate_gpus(4);
    EXPECT_EQ(list_physical_devices("GPU").size(), 4U) << real;
  }
  set("TUTTI_VISIBLE_DEVICES", "3");
  simulate_gpus(4);
  EXPECT_EQ(list_physical_devices("GPU").size(), 1U);
  EXPECT_TRUE(log.texts().empty()) << log.texts().front();
}

TEST_F(Environment, AnEmptyOrNegativeListHidesEveryGpu) {
  set("TUTTI_VISIBLE_DEVICES", "-1");
  simulate_gpus(4);
  EXPECT_TRUE(list_physical_devices("GPU").empty());
  EXPECT_EQ((ones({2}) * 2).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST_F(Environment, AGpuThatIsNotThereEndsTheListWithAWarning) {
  set("TUTTI_VISIBLE_DEVICES", "1,9,0");
  simulate_gpus(2);
  EXPECT_EQ(list_physical_devices("GPU").size(), 1U);
  EXPECT_EQ(log.count("TUTTI_VISIBLE_DEVICES names a GPU that is not there (9 of 2)"), 1U);
}

TEST_F(Environment, ForcedGrowthOverridesTheProgramAndSaysSo) {
  set("TF_FORCE_GPU_ALLOW_GROWTH", "true");
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  const PhysicalDevice gpu = list_physical_devices("GPU").at(0);
  set_memory_growth(gpu, false);
  EXPECT_TRUE(get_memory_growth(gpu));
  EXPECT_EQ(log.of(LogLevel::warning).size(), 1U);
  EXPECT_EQ(log.count("has no effect"), 1U);
  EXPECT_LT(memory_info("GPU:0").reserved, MiB(32));
}

TEST_F(Environment, OurGrowthVariableWinsOverTensorFlows) {
  set("TF_FORCE_GPU_ALLOW_GROWTH", "true");
  set("TUTTI_FORCE_GPU_ALLOW_GROWTH", "false");
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  EXPECT_FALSE(get_memory_growth(list_physical_devices("GPU").at(0)));
  EXPECT_GT(memory_info("GPU:0").reserved, MiB(32));
}

TEST_F(Environment, TheSteppedDriverRunsTheSameProgram) {
  set("TUTTI_SIM_GPUS", "2");
  set("TUTTI_SIM_DRIVER", "stepped");
  set("TUTTI_SIM_SEED", "7");
  Tensor x;
  {
    const DeviceScope on("GPU:1");
    x = full({10}, 2, DType::f32);
  }
  EXPECT_EQ(item<float>(sum(x * 3)), 60.F);
}

}  // namespace
}  // namespace tutti
