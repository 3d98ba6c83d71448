// Memory of a GPU: limits, growth and giving back as the driver sees them, uploads and reads of every size, no context unasked.
#include <atomic>
#include <numeric>

#include "cuda/gpu.h"
#include "cuda/gpu_figures.h"

namespace tutti::testing_cuda {

namespace {

// NVML counts the whole GPU: these tests need it for themselves, and forgive the driver's own small changes.
constexpr auto small_change = static_cast<std::int64_t>(MiB(40));

std::int64_t used() { return used_gpu_bytes().value_or(0); }

class GpuMemory : public OnGpu {};

class WholeGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && !used_gpu_bytes()) GTEST_SKIP() << "no NVML here, or several GPUs";
  }
};

class TwoOnAGpu : public OnGpu {
 protected:
  void configure(const PhysicalDevice& gpu) override {
    set_logical_device_configuration(gpu, {{.memory_limit = MiB(64)}, {.memory_limit = MiB(256)}});
  }
};

Tensor bytes_on(const char* device, std::uint64_t bytes, int value = 1) {
  const DeviceScope on(device);
  return full({static_cast<std::int64_t>(bytes)}, value, DType::u8);
}

std::int64_t total_on(const char* device, const Tensor& x) {
  const DeviceScope on(device);
  return item<std::int64_t>(sum(x));
}

}  // namespace

TEST_F(WholeGpu, ListingDevicesCreatesNoContext) {
  const std::int64_t before = used();
  EXPECT_FALSE(list_physical_devices().empty());
  EXPECT_GT(get_device_details(gpu()).memory_bytes, GiB(1));
  EXPECT_FALSE(list_logical_devices("GPU").empty());
  EXPECT_EQ(memory_info("GPU:0").context, 0U);
  EXPECT_EQ(memory_info("GPU:0").reserved, 0U);
  EXPECT_NEAR(static_cast<double>(used()), static_cast<double>(before), static_cast<double>(small_change));
}

TEST_F(WholeGpu, AProgramOnTheCpuAloneCreatesNoContext) {
  const std::int64_t before = used();
  const DeviceScope on("CPU:0");
  set_synchronous_execution(false);
  const Tensor x = matmul(uniform({200, 200}), ones({200, 200})) + 1;
  EXPECT_GT(item<float>(sum(x)), 0);
  EXPECT_EQ(read<float>(copy_to(zeros({10}), "CPU:0")), std::vector<float>(10, 0));
  sync_devices();
  EXPECT_EQ(memory_info("GPU:0").context, 0U);
  EXPECT_NEAR(static_cast<double>(used()), static_cast<double>(before), static_cast<double>(small_change));
}

TEST_F(WholeGpu, TheFirstUseCreatesTheContextAndCountsWhatItTakes) {
  const std::int64_t before = used();
  EXPECT_EQ(item<float>(ones({}) + 1), 2);
  const MemoryInfo info = memory_info("GPU:0");
  EXPECT_GT(info.context, MiB(50));
  EXPECT_GT(info.reserved, 0U);
  EXPECT_GE(used() - before + small_change, static_cast<std::int64_t>(info.context + info.reserved));
}

TEST_F(WholeGpu, MemoryGrowsOnDemandAndTrimReallyGivesItBack) {
  (void)item<float>(ones({}) + 1);
  const std::int64_t before = used();
  const std::uint64_t reserved = memory_info("GPU:0").reserved;
  std::vector<Tensor> held;
  for (int i = 0; i < 4; ++i) held.push_back(bytes_on("GPU:0", GiB(1), i));
  sync_devices();
  EXPECT_GE(memory_info("GPU:0").reserved, reserved + GiB(3));
  const std::int64_t grown = used() - before;
  EXPECT_NEAR(static_cast<double>(grown), static_cast<double>(memory_info("GPU:0").reserved - reserved),
              static_cast<double>(small_change));
  held.clear();
  sync_devices();
  EXPECT_GE(used() - before, grown - small_change) << "it is kept until someone asks";
  const std::uint64_t given_back = trim_memory("GPU:0");
  EXPECT_GE(given_back, GiB(4));
  EXPECT_LE(memory_info("GPU:0").reserved, reserved + MiB(64));
  EXPECT_LE(used() - before, small_change);
  EXPECT_EQ(item<std::int64_t>(sum(bytes_on("GPU:0", MiB(300)))), static_cast<std::int64_t>(MiB(300))) << "and it grows again";
}

TEST_F(WholeGpu, GrowthOffMapsNearlyAllOfTheLimitUpFront) {
  set_logical_device_configuration(gpu(), {{.memory_limit = GiB(2)}});
  set_memory_growth(gpu(), false);
  const std::int64_t before = used();
  EXPECT_EQ(item<float>(ones({}) + 1), 2);
  EXPECT_GE(memory_info("GPU:0").reserved, GiB(2) - MiB(128));
  EXPECT_GE(used() - before, static_cast<std::int64_t>(GiB(2) - MiB(128)));
}

TEST_F(WholeGpu, AFullGpuRefusesInItsOwnWordsAndGoesOn) {
  // The limit is all the GPU has, and the context takes some of that.
  const std::uint64_t all = get_device_details(gpu()).memory_bytes;
  const Tensor held = bytes_on("GPU:0", all / 3, 7);
  held.sync();
  try {
    (void)bytes_on("GPU:0", all - all / 3 - MiB(16));
    FAIL() << "the GPU held more than it has";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << e.what();
  }
  const DeviceScope on("GPU:0");
  EXPECT_EQ(item<float>(ones({}) + 1), 2);
  // More elements than 32 bits can count.
  EXPECT_EQ(read<std::uint8_t>(slice(held, 0, {.start = -2, .stop = {}})), (std::vector<std::uint8_t>{7, 7}));
}

TEST_F(TwoOnAGpu, EachKeepsItsOwnLimit) {
  EXPECT_EQ(memory_info("GPU:0").limit, MiB(64));
  EXPECT_EQ(memory_info("GPU:1").limit, MiB(256));
  const Tensor kept = bytes_on("GPU:0", MiB(8), 3);
  EXPECT_THROW((void)bytes_on("GPU:0", MiB(100)), OutOfMemory);
  EXPECT_EQ(total_on("GPU:1", bytes_on("GPU:1", MiB(100))), static_cast<std::int64_t>(MiB(100)));
  EXPECT_LE(memory_info("GPU:0").reserved, MiB(64));
  EXPECT_EQ(item<std::int64_t>(sum(kept)), static_cast<std::int64_t>(3 * MiB(8)));
  set_memory_limit("GPU:0", MiB(128));
  EXPECT_EQ(item<std::int64_t>(sum(bytes_on("GPU:0", MiB(100)))), static_cast<std::int64_t>(MiB(100)));
}

TEST_F(TwoOnAGpu, RunningOutSaysWhoHoldsWhatAndLosesNothing) {
  const Site here;
  std::vector<Tensor> held;
  try {
    for (int i = 0; i < 100; ++i) held.push_back(full({static_cast<std::int64_t>(MiB(8))}, i, DType::u8, here));
    FAIL() << "800 MiB fitted into 64";
  } catch (const OutOfMemory& e) {
    const std::string text = e.what();
    for (const char* part : {"out of memory on", "GPU:0", "request", "limit", "in use", "reserved", "largest hole", "held by",
                             "what would help", "memory_test.cc"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing from\n" << text;
  }
  EXPECT_GE(held.size(), 6U);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Tensor some = slice(held[i], 0, {.start = {}, .stop = {}, .step = static_cast<std::int64_t>(MiB(1)) - 1});
    EXPECT_EQ(read<std::uint8_t>(some),
              std::vector<std::uint8_t>(static_cast<std::size_t>(some.size()), static_cast<std::uint8_t>(i)));
  }
}

TEST_F(TwoOnAGpu, CopiesBetweenThemAreRight) {
  const Tensor x = uniform({1 << 20}, {.key = 3});
  const std::vector<float> expected = read<float>(x);
  EXPECT_EQ(read<float>(copy_to(copy_to(x, "GPU:1"), "GPU:0")), expected);
  const DeviceScope on("GPU:1");
  EXPECT_EQ(read<float>(x + 0), expected) << "an implicit one";
}

TEST_F(GpuMemory, TrimKeepsWhatIsInUse) {
  std::vector<Tensor> all;
  for (int i = 0; i < 20; ++i) all.push_back(bytes_on("GPU:0", MiB(16), i));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 5 != 2) all[i] = {};
  }
  sync_devices();
  EXPECT_GT(trim_memory("GPU:0"), MiB(100));
  for (std::size_t i = 2; i < all.size(); i += 5)
    EXPECT_EQ(item<std::int64_t>(sum(all[i])), static_cast<std::int64_t>(i * MiB(16)));
  for (int i = 0; i < 20; ++i) all.push_back(bytes_on("GPU:0", MiB(16), 1));
  EXPECT_EQ(item<std::int64_t>(sum(all.back())), static_cast<std::int64_t>(MiB(16)));
}

TEST_F(GpuMemory, SmallUploadsAndOpsNeverHoldTheHostUp) {
  const std::vector<float> values(1024, 1.5F);
  const auto round = [&] {
    Tensor total = zeros({1024});
    for (int i = 0; i < 100; ++i) total = total + constant(values, {1024});
    return total + constant(2.F) * 3;
  };
  for (int i = 0; i < 5; ++i) round().sync();
  for (int i = 0; i < 10; ++i) {
    sync_devices();
    reset_sync_totals();
    const Tensor total = round();
    const SyncCounts counts = sync_counts();
    EXPECT_EQ(counts.demand, 0U);
    EXPECT_EQ(counts.flow, 0U) << (sync_totals().empty() ? "" : to_string(sync_totals().front().reason));
    EXPECT_EQ(read<float>(total), std::vector<float>(1024, 156.F));
  }
}

TEST_F(GpuMemory, LargeUploadsAreTakenAtTheCallAndComeBackWhole) {
  for (const std::size_t bytes : {std::size_t{MiB(4)} - 1, std::size_t{MiB(4)}, std::size_t{MiB(4)} + 1, std::size_t{MiB(64)},
                                  std::size_t{MiB(64)} + 12'345, std::size_t{MiB(130)} + 7}) {
    SCOPED_TRACE(bytes);
    std::vector<std::uint8_t> values(bytes);
    for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13U);
    const Tensor x = constant(values, {static_cast<std::int64_t>(bytes)});
    std::vector<std::uint8_t> kept = values;
    std::fill(values.begin(), values.end(), std::uint8_t{0});
    EXPECT_TRUE(read<std::uint8_t>(x) == kept);
  }
}

TEST_F(GpuMemory, LargeCopiesFromAndToOrdinaryMemoryAreRight) {
  const std::int64_t n = (std::int64_t{9} << 20U) + 5;  // 36 MiB and an odd rest
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    Tensor host;
    {
      const DeviceScope on("CPU:0");
      host = uniform({n}, {.key = 9});
    }
    const Tensor there = copy_to(host, "GPU:0");
    const Tensor back = copy_to(there * 1, "CPU:0");
    EXPECT_TRUE(back.device().ends_with("CPU:0"));
    EXPECT_TRUE(read<float>(back) == read<float>(host));
    // Read in another order than it lies, and spread out on arrival.
    const Tensor square = reshape(slice(there, 0, {.start = 0, .stop = 3000 * 3000}), {3000, 3000});
    const Tensor turned = copy_to(transpose(square), "CPU:0");
    const DeviceScope on("CPU:0");
    EXPECT_TRUE(read<float>(transpose(turned)) == read<float>(slice(host, 0, {.start = 0, .stop = 3000 * 3000})));
  }
}

TEST_F(GpuMemory, MemoryOfTheHostsOwnIsCopiedFromInPlace) {
  std::vector<float> values((std::size_t{5} << 20U) + 3);
  std::iota(values.begin(), values.end(), 0.F);
  std::atomic<bool> is_done{false};
  {
    const Tensor lent =
        wrap_host_memory(values.data(), DType::f32, {static_cast<std::int64_t>(values.size())}, [&] { is_done = true; });
    const Tensor there = copy_to(lent, "GPU:0") + 0;
    EXPECT_TRUE(read<float>(there) == values);
  }
  sync_devices();
  EXPECT_TRUE(comes_true([&] { return is_done.load(); }));
}

}  // namespace tutti::testing_cuda
