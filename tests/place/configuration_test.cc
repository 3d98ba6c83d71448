// Configuration: what may be set, until when, and what happens to a change that comes too late.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tutti/place/runtime.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

std::vector<std::string> names(const std::vector<LogicalDeviceInfo>& devices) {
  std::vector<std::string> out;
  for (const LogicalDeviceInfo& device : devices) out.push_back(device.name);
  return out;
}
using Names = std::vector<std::string>;

// The message, without its site, of the error that the call must throw, naming a line between the first of the expression
// and `last` of this file.
template <class E, class Call>
std::string refusal(Call&& call, std::uint32_t last, Site first = {}) {
  try {
    call();
  } catch (const E& e) {
    EXPECT_GE(e.site().line(), std::min(first.line(), last)) << e.what();
    EXPECT_LE(e.site().line(), std::max(first.line(), last)) << e.what();
    EXPECT_STREQ(e.site().file(), __FILE__) << e.what();
    return e.message();
  }
  ADD_FAILURE_AT(__FILE__, static_cast<int>(last)) << "was accepted";
  return {};
}

TEST(PhysicalDevices, AreListedWithoutOpeningAny) {
  simulate_gpus(3);
  EXPECT_EQ(list_physical_devices("GPU").size(), 3U);
  EXPECT_EQ(list_physical_devices("gpu"), list_physical_devices("GPU"));
  EXPECT_EQ(list_physical_devices("cuda"), list_physical_devices("GPU"));
  EXPECT_EQ(list_physical_devices("CPU").size(), 1U);
  const std::vector<PhysicalDevice> all = list_physical_devices();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].name(), "/physical_device:CPU:0");
  EXPECT_EQ(all[3].name(), "/physical_device:GPU:2");
  EXPECT_EQ(runtime_if_initialised(), nullptr);
  const std::string message = refusal<InvalidArgument>([] { list_physical_devices("TPU"); }, __LINE__);
  EXPECT_EQ(message, "'TPU' is not a type of device; use 'CPU', 'GPU' or nothing for all");
}

TEST(PhysicalDevices, HaveDetails) {
  simulate_gpus(1, {.memory_bytes = MiB(512)});
  const DeviceDetails gpu = get_device_details(list_physical_devices("GPU").at(0));
  EXPECT_EQ(gpu.backend, "sim");
  EXPECT_EQ(gpu.memory_bytes, MiB(512));
  EXPECT_NE(gpu.device_name, "");
  EXPECT_EQ(get_device_details(list_physical_devices("CPU").at(0)).backend, "cpu");
  const std::string message = refusal<InvalidArgument>([] { get_device_details({"GPU", 7}); }, __LINE__);
  EXPECT_EQ(message, "Unrecognized device: /physical_device:GPU:7; take one from list_physical_devices()");
}

TEST(VisibleDevices, AreTheOnesThatBecomeLogical) {
  simulate_gpus(4);
  const auto gpus = list_physical_devices("GPU");
  set_visible_devices({gpus[1], gpus[3]}, "GPU");
  EXPECT_EQ(get_visible_devices("GPU"), (std::vector{gpus[1], gpus[3]}));
  EXPECT_EQ(get_visible_devices().size(), 3U);
  EXPECT_EQ(names(list_logical_devices("GPU")), (Names{"/device:GPU:0", "/device:GPU:1"}));
  EXPECT_EQ(names(list_logical_devices()), (Names{"/device:CPU:0", "/device:GPU:0", "/device:GPU:1"}));
}

TEST(VisibleDevices, CanHideEveryGpu) {
  simulate_gpus(2);
  set_visible_devices(std::vector<PhysicalDevice>{}, "GPU");
  EXPECT_TRUE(list_logical_devices("GPU").empty());
  EXPECT_EQ((ones({2}) + 1).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(VisibleDevices, BadListsAreRefusedAtTheCall) {
  simulate_gpus(1);
  const PhysicalDevice gpu = list_physical_devices("GPU").at(0);
  EXPECT_NE(refusal<InvalidArgument>([&] { set_visible_devices(gpu, "CPU"); }, __LINE__).find("is not a CPU"), std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { set_visible_devices(gpu); }, __LINE__).find("the CPU cannot be made invisible"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>(
                [&] {
                  set_visible_devices(PhysicalDevice{"GPU", 5}, "GPU");
                },
                __LINE__)
                .find("Unrecognized device"),
            std::string::npos);
  EXPECT_EQ(get_visible_devices().size(), 2U) << "a refused call changes nothing";
}

TEST(LogicalDevices, SplitAGpuWithALimitEach) {
  simulate_gpus(2, {.memory_bytes = MiB(64)});
  const auto gpus = list_physical_devices("GPU");
  set_logical_device_configuration(gpus[0], {{.memory_limit = MiB(8)}, {.memory_limit = MiB(16)}});
  EXPECT_EQ(get_logical_device_configuration(gpus[0]).size(), 2U);
  EXPECT_EQ(get_logical_device_configuration(gpus[1]).size(), 1U);
  const auto logical = list_logical_devices("GPU");
  ASSERT_EQ(names(logical), (Names{"/device:GPU:0", "/device:GPU:1", "/device:GPU:2"}));
  EXPECT_EQ(logical[0].memory_limit, MiB(8));
  EXPECT_EQ(logical[1].memory_limit, MiB(16));
  EXPECT_EQ(logical[2].memory_limit, MiB(64));
  const DeviceScope on(logical[0]);
  EXPECT_THROW(zeros({3 << 20}), OutOfMemory);
  const DeviceScope next(logical[1]);
  EXPECT_EQ(zeros({3 << 20}).device(), "/job:localhost/replica:0/task:0/device:GPU:1");
}

TEST(LogicalDevices, SplitTheCpuToo) {
  const PhysicalDevice cpu = list_physical_devices("CPU").at(0);
  set_logical_device_configuration(cpu, {{}, {}, {.memory_limit = MiB(32)}});
  EXPECT_EQ(names(list_logical_devices("CPU")), (Names{"/device:CPU:0", "/device:CPU:1", "/device:CPU:2"}));
  Tensor there;
  {
    const DeviceScope on("CPU:1");
    there = constant({1.F, 2.F}) * 3;
  }
  EXPECT_EQ(there.device(), "/job:localhost/replica:0/task:0/device:CPU:1");
  EXPECT_EQ(read<float>(there), (std::vector{3.F, 6.F}));
  {
    const DeviceScope on("CPU:2");
    EXPECT_EQ(read<float>(there + 1), (std::vector{4.F, 7.F}));
    EXPECT_EQ(last_placement().copies, 1U);
    EXPECT_THROW(zeros({MiB(64)}, DType::u8), OutOfMemory);
  }
  EXPECT_EQ((there + 1).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(LogicalDevices, BadConfigurationsAreRefusedAtTheCall) {
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  const PhysicalDevice gpu = list_physical_devices("GPU").at(0);
  EXPECT_NE(refusal<InvalidArgument>([&] { set_logical_device_configuration(gpu, {}); }, __LINE__).find("give at least one"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>(
                [&] {
                  set_logical_device_configuration(gpu, {{.memory_limit = MiB(8)}, {}});
                },
                __LINE__)
                .find("Setting memory limit is required for GPU virtual devices"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>(
                [&] {
                  set_logical_device_configuration(gpu, {{.memory_limit = MiB(60)}, {.memory_limit = MiB(60)}});
                },
                __LINE__)
                .find("add up to more than the 64 MiB it has"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>(
                [&] {
                  set_logical_device_configuration(gpu, {{.memory_limit = UINT64_MAX}, {.memory_limit = 2}});
                },
                __LINE__)
                .find("add up to more"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>(
                [&] {
                  set_logical_device_configuration({"GPU", 3}, {{}});
                },
                __LINE__)
                .find("Unrecognized device"),
            std::string::npos);
  EXPECT_EQ(list_logical_devices("GPU").size(), 1U);
}

TEST(MemoryGrowth, IsOnUnlessSwitchedOffAndThenMapsUpFront) {
  simulate_gpus(2, {.memory_bytes = MiB(64)});
  const auto gpus = list_physical_devices("GPU");
  EXPECT_TRUE(get_memory_growth(gpus[0]));
  set_memory_growth(gpus[1], false);
  EXPECT_FALSE(get_memory_growth(gpus[1]));
  EXPECT_LT(memory_info("GPU:0").reserved, MiB(32));
  EXPECT_GT(memory_info("GPU:1").reserved, MiB(32));
  EXPECT_LE(memory_info("GPU:1").reserved, MiB(64));
  const std::string message =
      refusal<InvalidArgument>([] { set_memory_growth(list_physical_devices("CPU").at(0), true); }, __LINE__);
  EXPECT_TRUE(message.starts_with("Cannot set memory growth on non-GPU and non-Pluggable devices")) << message;
}

TEST(MemoryGrowth, AndALimitWorkTogether) {
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  const PhysicalDevice gpu = list_physical_devices("GPU").at(0);
  set_memory_growth(gpu, false);
  set_logical_device_configuration(gpu, {{.memory_limit = MiB(16)}, {.memory_limit = MiB(8)}});
  EXPECT_LE(memory_info("GPU:0").reserved, MiB(16));
  EXPECT_GT(memory_info("GPU:0").reserved, MiB(8));
  EXPECT_LE(memory_info("GPU:1").reserved, MiB(8));
  EXPECT_EQ(memory_info("GPU:1").limit, MiB(8));
}

TEST(FrozenConfiguration, RefusesAChangeAndNamesTheCallThatInitialised) {
  simulate_gpus(2);
  const auto gpus = list_physical_devices("GPU");
  const std::uint32_t first = __LINE__ + 1;
  ones({1});
  const std::string where = "the runtime was initialised at " + std::string(__FILE__) + ":" + std::to_string(first);
  std::string message = refusal<ConfigurationFrozen>([&] { set_visible_devices(gpus[0], "GPU"); }, __LINE__);
  EXPECT_TRUE(message.starts_with("Visible devices cannot be modified after being initialized")) << message;
  EXPECT_NE(message.find(where), std::string::npos) << message;
  message = refusal<ConfigurationFrozen>([&] { set_memory_growth(gpus[0], false); }, __LINE__);
  EXPECT_TRUE(message.starts_with("Physical devices cannot be modified after being initialized")) << message;
  EXPECT_NE(message.find(where), std::string::npos) << message;
  message =
      refusal<ConfigurationFrozen>([&] { set_logical_device_configuration(gpus[0], {{.memory_limit = MiB(8)}}); }, __LINE__);
  EXPECT_TRUE(message.starts_with("Virtual devices cannot be modified after being initialized")) << message;
  EXPECT_NE(message.find(where), std::string::npos) << message;
  message = refusal<ConfigurationFrozen>([&] { simulate_gpus(3); }, __LINE__);
  EXPECT_TRUE(message.starts_with("Physical devices cannot be modified after being initialized")) << message;
  EXPECT_EQ(list_logical_devices("GPU").size(), 2U);
  EXPECT_TRUE(get_memory_growth(gpus[0])) << "a refused change changes nothing";
}

TEST(FrozenConfiguration, AcceptsTheSameValueAgain) {
  simulate_gpus(2, {.memory_bytes = MiB(64)});
  const auto gpus = list_physical_devices("GPU");
  const std::vector<LogicalDeviceConfiguration> split{{.memory_limit = MiB(8)}, {.memory_limit = MiB(8)}};
  set_visible_devices(gpus[1], "GPU");
  set_memory_growth(gpus[1], false);
  set_logical_device_configuration(gpus[1], split);
  ASSERT_EQ(list_logical_devices("GPU").size(), 2U);
  simulate_gpus(2, {.memory_bytes = MiB(64)});
  set_visible_devices(gpus[1], "GPU");
  set_memory_growth(gpus[1], false);
  set_memory_growth(gpus[0], true);
  set_logical_device_configuration(gpus[1], split);
  EXPECT_EQ(list_logical_devices("GPU").size(), 2U);
}

TEST(FrozenConfiguration, ListingLogicalDevicesInitialisesAndQuestionsDoNot) {
  simulate_gpus(1);
  list_physical_devices();
  get_visible_devices();
  get_memory_growth(list_physical_devices("GPU").at(0));
  get_logical_device_configuration(list_physical_devices("GPU").at(0));
  EXPECT_EQ(runtime_if_initialised(), nullptr);
  const std::uint32_t line = __LINE__ + 1;
  list_logical_devices();
  ASSERT_NE(runtime_if_initialised(), nullptr);
  EXPECT_EQ(runtime_if_initialised()->initialised_at().line(), line);
}

TEST(SimulatedGpus, OfImpossibleMakeAreRefused) {
  EXPECT_NE(refusal<InvalidArgument>([] { simulate_gpus(65); }, __LINE__).find("the most is 64"), std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([] { simulate_gpus(1, {.workers = 0}); }, __LINE__).find("1 to 64 workers"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([] { simulate_gpus(1, {.memory_bytes = 10}); }, __LINE__).find("at least 2 MiB"),
            std::string::npos);
}

TEST(ChangeableSettings, ChangeAtAnyTimeAndThoseOfAThreadStayWithIt) {
  ones({1});
  set_soft_device_placement(true);
  EXPECT_TRUE(get_soft_device_placement());
  set_soft_device_placement(false);
  set_log_device_placement(true);
  EXPECT_TRUE(get_log_device_placement());
  set_log_device_placement(false);
  set_copy_policy(CopyPolicy::explicit_only);
  set_synchronous_execution(false);
  CopyPolicy other = CopyPolicy::warn;
  bool synchronous = false;
  std::thread([&] {
    other = get_copy_policy();
    synchronous = get_synchronous_execution();
  }).join();
  EXPECT_EQ(other, CopyPolicy::silent);
  EXPECT_TRUE(synchronous);
  EXPECT_EQ(get_copy_policy(), CopyPolicy::explicit_only);
  EXPECT_FALSE(get_synchronous_execution());
}

TEST(ChangeableSettings, TheNumberOfThreadsIsClampedToTheMachine) {
  EXPECT_EQ(set_num_threads(1), 1U);
  EXPECT_EQ(get_num_threads(), 1U);
  EXPECT_GE(set_num_threads(100'000), 1U);
  EXPECT_LT(get_num_threads(), 100'000U);
  EXPECT_NE(refusal<InvalidArgument>([] { set_num_threads(0); }, __LINE__).find("at least 1 thread"), std::string::npos);
}

TEST(LiveLimits, AreRefusedBelowWhatIsInUseWithTheFigures) {
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  const DeviceScope on("GPU:0");
  const Tensor held = zeros({4 << 20});
  const std::string message = refusal<InvalidArgument>([] { set_memory_limit("GPU:0", MiB(8)); }, __LINE__);
  EXPECT_NE(message.find("16 MiB"), std::string::npos) << message;
  EXPECT_NE(message.find("8 MiB"), std::string::npos) << message;
  set_memory_limit("GPU:0", MiB(32));
  EXPECT_EQ(memory_info("GPU:0").limit, MiB(32));
  EXPECT_THROW(zeros({6 << 20}), OutOfMemory);
  set_memory_limit("GPU:0", 0);
  EXPECT_EQ(zeros({6 << 20}).size(), 6 << 20);
}

TEST(LiveLimits, NeverPromiseMoreThanThePhysicalDeviceHas) {
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  EXPECT_EQ(refusal<InvalidArgument>([] { set_memory_limit("GPU:0", MiB(65)); }, __LINE__),
            "a memory limit of 65 MiB was asked for on /job:localhost/replica:0/task:0/device:GPU:0, but /physical_device:GPU:0 "
            "has 64 MiB; ask for at most 64 MiB");
  EXPECT_EQ(memory_info("GPU:0").limit, MiB(64));
  set_memory_limit("GPU:0", MiB(64));
}

TEST(LiveLimits, OfTheLogicalDevicesOfOneGpuAddUpToWhatItHas) {
  simulate_gpus(1, {.memory_bytes = MiB(64)});
  set_logical_device_configuration(list_physical_devices("GPU").at(0), {{.memory_limit = MiB(16)}, {.memory_limit = MiB(24)}});
  EXPECT_EQ(refusal<InvalidArgument>([] { set_memory_limit("GPU:0", MiB(41)); }, __LINE__),
            "a memory limit of 41 MiB was asked for on /job:localhost/replica:0/task:0/device:GPU:0, but /physical_device:GPU:0 "
            "has 64 MiB, of which 24 MiB are promised to its other logical devices; ask for at most 40 MiB");
  EXPECT_NE(refusal<InvalidArgument>([] { set_memory_limit("GPU:0", 0); }, __LINE__).find("a memory limit of 64 MiB"),
            std::string::npos);
  set_memory_limit("GPU:1", MiB(8));
  set_memory_limit("GPU:0", MiB(56));
}

TEST(LiveLimits, OfVirtualCpusWithoutOneOfTheirOwnAreNotCounted) {
  set_logical_device_configuration(list_physical_devices("CPU").at(0), {{}, {}});
  set_memory_limit("CPU:0", MiB(64));
  set_memory_limit("CPU:0", MiB(128));
  set_memory_limit("CPU:0", 0);
}

TEST(MemoryOfADevice, IsAskedForByAnyNameThatMeansOneDevice) {
  simulate_gpus(2);
  for (const char* name : {"GPU:1", "/gpu:1", "cuda:1", "/device:GPU:1", "/job:localhost/replica:0/task:0/device:GPU:1"}) {
    EXPECT_GT(memory_info(name).limit, 0U) << name;
  }
  EXPECT_NE(refusal<UnknownDevice>([] { memory_info("GPU:7"); }, __LINE__).find("'GPU:7' unknown device; there are: "),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([] { memory_info("GPU"); }, __LINE__).find("fits several devices"), std::string::npos);
  EXPECT_NE(refusal<UnknownDevice>([] { memory_info("/job:worker/device:GPU:0"); }, __LINE__).find("unknown device"),
            std::string::npos);
  EXPECT_NE(refusal<UnknownDevice>([] { trim_memory("/task:1/device:CPU:0"); }, __LINE__).find("unknown device"),
            std::string::npos);
  refusal<InvalidDeviceName>([] { reset_peak("GPU:x"); }, __LINE__);
}

}  // namespace
}  // namespace tutti
