// What goes wrong on the GPU becomes an error with its origin; the process, the CPU and what does not depend on it go on.
#include <cstdlib>

#include "cuda/device_ops.h"
#include "cuda/gpu.h"

namespace tutti::testing_cuda {

namespace {

using namespace std::chrono_literals;

class GpuFaults : public OnGpu {
 protected:
  void configure(const PhysicalDevice& gpu) override {
    set_logical_device_configuration(gpu, {{.memory_limit = GiB(1)}, {.memory_limit = GiB(1)}});
  }
};

class GpuLoss : public GpuFaults, public testing::WithParamInterface<Misdeed> {};
INSTANTIATE_TEST_SUITE_P(By, GpuLoss, testing::Values(Misdeed::bad_address, Misdeed::bad_alignment, Misdeed::trap),
                         [](const auto& misdeed) {
                           return misdeed.param == Misdeed::bad_address     ? "BadAddress"
                                  : misdeed.param == Misdeed::bad_alignment ? "BadAlignment"
                                                                            : "Trap";
                         });

struct Caught {
  std::string text = "nothing was thrown";
  std::string type = "nothing";
  Site site;

  [[nodiscard]] bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

template <class Body>
Caught caught(const Body& body) {
  try {
    body();
  } catch (const DeviceLost& e) {
    return {e.what(), "DeviceLost", e.site()};
  } catch (const KernelFailed& e) {
    return {e.what(), "KernelFailed", e.site()};
  } catch (const Error& e) {
    return {e.what(), "Error", e.site()};
  }
  return {};
}

void expect_the_cpu_goes_on() {
  const DeviceScope on("CPU:0");
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    EXPECT_EQ(item<float>(sum(matmul(ones({8, 8}), ones({8, 8})) + 1)), 576);
  }
  set_synchronous_execution(true);
}

// A loss on GPU:0 with other work around it, as far as the first read that meets it.
Caught lose_the_gpu(Misdeed misdeed, Site where) {
  Tensor x = ones({64});
  x.sync();
  for (int i = 0; i < 3; ++i) x = x + 1;
  const Tensor bad = misbehave(x, misdeed, where);
  const Tensor after = bad * 2;
  return caught([&] { (void)read<float>(after); });
}

}  // namespace

TEST_P(GpuLoss, NamesTheCandidatesAndSparesTheCpu) {
  const Site here;
  const Caught loss = lose_the_gpu(GetParam(), here);
  EXPECT_EQ(loss.type, "DeviceLost") << loss.text;
  EXPECT_TRUE(loss.says(misbehaving_op)) << loss.text;
  EXPECT_TRUE(loss.says(here.to_string())) << loss.text;
  EXPECT_TRUE(loss.says("CUDA_ERROR")) << loss.text;
  EXPECT_TRUE(loss.says("TUTTI_CUDA_DEBUG=1")) << "how to have it named: " << loss.text;
  expect_the_cpu_goes_on();
}

TEST_P(GpuLoss, IsExactInDebugMode) {
  ASSERT_EQ(::setenv("TUTTI_CUDA_DEBUG", "1", 1), 0);  // before first use
  const Site here;
  const Caught loss = lose_the_gpu(GetParam(), here);
  EXPECT_EQ(loss.type, "DeviceLost") << loss.text;
  EXPECT_EQ(loss.site, here) << loss.text;
  EXPECT_TRUE(loss.says(std::string("op ") + misbehaving_op)) << loss.text;
  expect_the_cpu_goes_on();
}

TEST_F(GpuFaults, ALostContextIsLostForEveryLogicalDeviceOnItAndSaysSo) {
  Tensor there;
  Tensor read_before;
  {
    const DeviceScope on("GPU:1");
    there = ones({10}) + 1;
    read_before = ones({10}) * 3;
    EXPECT_EQ(read<float>(read_before), std::vector<float>(10, 3));
    there.sync();
  }
  const Caught loss = lose_the_gpu(Misdeed::bad_address, Site{});
  EXPECT_EQ(loss.type, "DeviceLost") << loss.text;
  EXPECT_TRUE(loss.says("GPU:0") && loss.says("GPU:1")) << loss.text;
  EXPECT_TRUE(loss.says("share")) << loss.text;

  const Caught other = caught([&] { (void)read<float>(there); });
  EXPECT_EQ(other.type, "DeviceLost") << other.text;
  EXPECT_EQ(other.site, loss.site) << other.text;
  const DeviceScope on("GPU:1");
  const Caught later = caught([&] { (void)read<float>(there * 2); });
  EXPECT_EQ(later.type, "DeviceLost") << later.text;
  EXPECT_EQ(later.site, loss.site) << later.text;
  EXPECT_EQ(read<float>(read_before), std::vector<float>(10, 3)) << "what the host has it keeps";
  expect_the_cpu_goes_on();
}

TEST_F(GpuFaults, EveryLaterOpOfALostDeviceFailsWithTheSameOrigin) {
  const Tensor before = ones({64});
  before.sync();
  const Caught loss = lose_the_gpu(Misdeed::bad_address, Site{});
  ASSERT_EQ(loss.type, "DeviceLost") << loss.text;
  Stream stream("GPU:0");
  const auto use_the_gpu = [&](int kind) {
    switch (kind) {
      case 0: (void)read<float>(before); break;
      case 1: (void)read<float>(before + 1); break;
      case 2: (void)read<float>(ones({64})); break;
      case 3: (void)item<float>(sum(constant({1.F, 2.F}))); break;
      case 4: (void)read<float>(matmul(ones({8, 8}), ones({8, 8}))); break;
      case 5: before.sync(); [[fallthrough]];
      case 6: {
        const StreamScope on(stream);
        (void)read<float>(before * 2);
        break;
      }
      case 7: (void)nonzero(before); break;
      default: (void)read_async<float>(copy_to(before, "CPU:0")).get_all();
    }
  };
  for (int kind = 0; kind < 9; ++kind) {
    const Caught again = caught([&] { use_the_gpu(kind); });
    EXPECT_EQ(again.type, "DeviceLost") << kind << ": " << again.text;
    EXPECT_EQ(again.site, loss.site) << kind << ": " << again.text;
  }
  expect_the_cpu_goes_on();
}

TEST_F(GpuFaults, ASyncMeetsALossToo) {
  const Tensor x = ones({4});
  x.sync();
  const Site here;
  const Tensor bad = misbehave(x, Misdeed::bad_address, here);
  const Caught loss = caught([] { sync_devices({.timeout = 30s}); });
  EXPECT_EQ(loss.type, "DeviceLost") << loss.text;
  EXPECT_TRUE(loss.says(misbehaving_op)) << loss.text;
  EXPECT_TRUE(loss.says(here.to_string())) << loss.text;
  EXPECT_TRUE(comes_true([&] { return bad.is_ready(); })) << "everything in flight resolves";
}

TEST_F(GpuFaults, ALossIsNoticedByThoseWhoOnlyAsk) {
  const Tensor x = ones({4});
  x.sync();
  const Tensor bad = misbehave(x, Misdeed::bad_address) + 1;
  const Caught loss = caught(
      [&] { EXPECT_TRUE(comes_true([&] { return try_read<float>(bad).has_value(); })) << "nobody looked at the GPU's health"; });
  EXPECT_EQ(loss.type, "DeviceLost") << loss.text;
}

TEST_F(GpuFaults, AProcessThatLostItsGpuEndsInPeace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto live_on = [] {
    const Caught loss = lose_the_gpu(Misdeed::bad_address, Site{});
    Tensor kept = ones({100});  // still alive at the end
    Stream stream("GPU:0");
    expect_the_cpu_goes_on();
    std::exit(loss.type == "DeviceLost" && !testing::Test::HasFailure() ? 0 : 1);
  };
  EXPECT_EXIT(live_on(), testing::ExitedWithCode(0), "");
}

TEST_F(GpuFaults, ALaunchThatIsRefusedIsExactAndTheDeviceGoesOn) {
  const Tensor x = full({64}, 2, DType::f32);
  const Site here;
  const Tensor bad = misbehave(x, Misdeed::too_many_threads, here);
  const Tensor dependent = bad + 1;
  const Tensor after = x * 3;
  for (const Tensor& each : {bad, dependent}) {
    const Caught failure = caught([&] { (void)read<float>(each); });
    EXPECT_EQ(failure.type, "KernelFailed") << failure.text;
    EXPECT_EQ(failure.site, here) << failure.text;
    EXPECT_TRUE(failure.says(misbehaving_op)) << failure.text;
    EXPECT_TRUE(failure.says("invalid")) << "CUDA's own words: " << failure.text;
  }
  EXPECT_EQ(read<float>(after), std::vector<float>(64, 6));
  EXPECT_EQ(item<float>(sum(x + 1)), 192);
  clear_errors();
  EXPECT_NO_THROW(sync_devices());
}

TEST_F(GpuFaults, AKernelThatThrowsBeforeItsLaunchIsExactAndTheDeviceGoesOn) {
  const Tensor x = ones({4});
  const Site here;
  const Caught failure = caught([&] { (void)read<float>(misbehave(x, Misdeed::throws, here)); });
  EXPECT_EQ(failure.type, "KernelFailed") << failure.text;
  EXPECT_EQ(failure.site, here) << failure.text;
  EXPECT_TRUE(failure.says("the kernel gave up before it was launched")) << failure.text;
  EXPECT_EQ(item<float>(sum(x)), 4);
  clear_errors();
}

TEST_F(GpuFaults, AnIndexOutOfRangeSaysWhatTheCpuSays) {
  const auto message = [](const char* device, std::int64_t index, std::int64_t axis) {
    const DeviceScope on(device);
    const Tensor x = ones({3, 5, 2});
    const Caught failure = caught([&] { (void)read<float>(take(x, constant({std::int64_t{1}, index}), axis)); });
    EXPECT_EQ(failure.type, "KernelFailed") << failure.text;
    clear_errors();
    return failure.text.substr(0, failure.text.find(" (op"));
  };
  for (const std::int64_t index : {std::int64_t{5}, std::int64_t{-6}, std::int64_t{1} << 40U, -(std::int64_t{1} << 40U)}) {
    for (const std::int64_t axis : {0, 1, 2}) EXPECT_EQ(message("GPU:0", index, axis), message("CPU:0", index, axis));
  }
}

TEST_F(GpuFaults, AnIndexOutOfRangeSpoilsWhatDependsOnItAlone) {
  const Tensor x = full({1000, 10}, 2, DType::f32);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int32_t> indices(5000, 7);
    indices[static_cast<std::size_t>(round * 200)] = 1000 + round;
    const Site here;
    const Tensor bad = take(x, constant(indices, {5000}), 0, here);
    const Tensor dependent = sum(exp(bad) + 1);
    const Tensor good = sum(take(x, constant({std::int32_t{3}})));
    const Caught failure = caught([&] { (void)item<float>(dependent); });
    EXPECT_EQ(failure.type, "KernelFailed") << failure.text;
    EXPECT_EQ(failure.site, here);
    EXPECT_TRUE(failure.says("index " + std::to_string(1000 + round) + " is out of range")) << failure.text;
    EXPECT_EQ(item<float>(good), 20);
    EXPECT_EQ(item<float>(sum(x)), 20'000);
  }
  clear_errors();
}

}  // namespace tutti::testing_cuda
