// Copies between the host and a GPU that reaches pinned memory only: they are staged, in order, and nobody waits unasked.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {

namespace {

constexpr std::int64_t chunk = (std::int64_t{16} << 20) / 4;  // elements of f32 in a chunk

class Staging : public testing::Test {
 protected:
  void SetUp() override { simulate_gpus(1, {.memory_bytes = GiB(1), .pinned_copies = true}); }

  static std::vector<float> numbered(std::int64_t count) {
    std::vector<float> out(static_cast<std::size_t>(count));
    std::iota(out.begin(), out.end(), 0.0F);  // whole numbers below 2^24: exact
    return out;
  }
  static Tensor uploaded(const std::vector<float>& values) {
    const DeviceScope on("GPU:0");
    return from_bytes(DType::f32, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
  }
};

}  // namespace

TEST_F(Staging, UploadsAndReadsBackEverySizeAroundAChunk) {
  for (const std::int64_t count :
       {std::int64_t{0}, std::int64_t{1}, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 12'345}) {
    const std::vector<float> values = numbered(count);
    EXPECT_EQ(read<float>(uploaded(values)), values) << count;
  }
}

TEST_F(Staging, TheCallersMemoryIsHisAgainWhenAnUploadReturns) {
  set_synchronous_execution(false);
  std::vector<float> values = numbered(4 * chunk + 7);
  const std::vector<float> before = values;
  const Tensor x = uploaded(values);
  std::fill(values.begin(), values.end(), -1.0F);
  EXPECT_EQ(read<float>(x), before);
}

TEST_F(Staging, MovesCpuTensorsInEitherMode) {
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    const std::vector<float> values = numbered(2 * chunk + 3);
    Tensor host;
    {
      const DeviceScope on("CPU:0");
      host = from_bytes(DType::f32, {2 * chunk + 3}, std::as_bytes(std::span(values))) + 1;
    }
    const Tensor back = copy_to(copy_to(host, "GPU:0"), "CPU:0");
    const std::vector<float> got = read<float>(back);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], values[i] + 1) << i;
  }
}

TEST_F(Staging, MovesViewsAndSpreadsWhatIsAssigned) {
  const DeviceScope on("CPU:0");
  const std::vector<float> values = numbered(6 * chunk);
  const Tensor wide = from_bytes(DType::f32, {3, 2 * chunk}, std::as_bytes(std::span(values)));
  const Tensor turned = slice(wide, 1, {.start = {}, .stop = {}, .step = -1});
  const std::vector<float> got = read<float>(copy_to(turned, "GPU:0"));
  for (std::int64_t i = 0; i < 2 * chunk; i += 1'000)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<float>(2 * chunk - 1 - i));
  Variable on_gpu = [] {
    const DeviceScope there("GPU:0");
    return Variable(zeros({3, 2 * chunk}));
  }();
  on_gpu.assign(slice(wide, 0, {1, 2}));  // one row for three, larger than a chunk
  const std::vector<float> rows = read<float>(on_gpu.value());
  for (std::int64_t i = 0; i < 6 * chunk; i += 997)
    ASSERT_EQ(rows[static_cast<std::size_t>(i)], static_cast<float>(2 * chunk + i % (2 * chunk)));
}

TEST_F(Staging, SmallUploadsAndOpsMakeNoSync) {
  const Tensor warm = uploaded(numbered(1'000)) + 1;
  warm.sync();
  reset_sync_totals();
  for (int i = 0; i < 100; ++i) (void)(uploaded(numbered(1'000)) + 1);
  EXPECT_EQ(sync_counts().demand, 0U);
  for (const SyncTotals& entry : sync_totals()) EXPECT_NE(entry.reason, SyncReason::pageable_staging) << entry.site.to_string();
}

TEST_F(Staging, AFailedPartFailsTheWholeCopy) {
  for (const std::uint64_t part : {0, 1, 2}) {
    const std::vector<float> values = numbered(3 * chunk);
    inject_fault({.kind = FaultKind::copy, .skip = part});
    const Tensor x = uploaded(values);
    EXPECT_THROW((void)read<float>(x), Error) << part;
    clear_faults();
    clear_errors();
    EXPECT_EQ(read<float>(uploaded(values)), values);
  }
}

TEST_F(Staging, WhatIsReadStaysInPinnedMemoryIfItIsSmall) {
  const Tensor x = uploaded(numbered(100));
  EXPECT_TRUE(is_pinned(copy_to(x, "CPU:0")));
  EXPECT_FALSE(is_pinned(copy_to(uploaded(numbered(chunk)), "CPU:0")));
  EXPECT_TRUE(is_pinned(pin(copy_to(uploaded(numbered(chunk)), "CPU:0"))));
}

}  // namespace tutti
