// Inputs that are elsewhere: copied, kept while their source lives, refused or reported as the policy says.
#include <gtest/gtest.h>

#include <thread>

#include "place/captured_log.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

const char* const gpu0 = "/job:localhost/replica:0/task:0/device:GPU:0";
const char* const gpu1 = "/job:localhost/replica:0/task:0/device:GPU:1";

Tensor on_device(const char* device, const Tensor& x) { return copy_to(x, device); }

TEST(Copies, AreRecordedWithTheirNumberAndBytes) {
  simulate_gpus(2);
  const Tensor a = on_device("GPU:0", ones({10}));
  const Tensor b = on_device("CPU:0", ones({10}, DType::f64));
  const DeviceScope on("GPU:1");
  const Tensor c = where(constant(true), a, a) + 0;
  EXPECT_EQ(c.device(), gpu1);
  const Tensor d = add_n({a, on_device("CPU:0", ones({10})), c});
  EXPECT_EQ(last_placement().op, "AddN");
  EXPECT_EQ(last_placement().copies, 1U) << "a was copied for the op before and is kept";
  EXPECT_EQ(last_placement().bytes, 40U);
  EXPECT_EQ(item<double>(sum(b + cast(d, DType::f64))), 40.0);
}

TEST(Copies, AreKeptWhileTheSourceLives) {
  simulate_gpus(2);
  Tensor a = on_device("GPU:0", ones({1000}));
  const DeviceScope on("GPU:1");
  const std::uint64_t before = memory_info("GPU:1").in_use;
  a + 1;
  EXPECT_EQ(last_placement().copies, 1U);
  a + 1;
  EXPECT_EQ(last_placement().copies, 0U);
  synchronize("GPU:1");
  EXPECT_GT(memory_info("GPU:1").in_use, before);
  a = Tensor();
  EXPECT_EQ(memory_info("GPU:1").in_use, before);
}

TEST(Copies, AreDroppedWhenMemoryIsShort) {
  simulate_gpus(2, {.memory_bytes = MiB(64)});
  const Tensor a = on_device("GPU:0", ones({4 << 20}));  // 16 MiB
  const DeviceScope on("GPU:1");
  const Tensor first = sum(a);
  EXPECT_EQ(last_placement().copies, 1U);
  synchronize();
  ASSERT_GE(memory_info("GPU:1").in_use, MiB(16));
  set_memory_limit("GPU:1", MiB(24));
  const Tensor large = ones({5 << 20});  // 20 MiB: only if the kept copy goes
  EXPECT_EQ(item<float>(sum(large)), static_cast<float>(5 << 20));
  EXPECT_EQ(item<float>(first), static_cast<float>(4 << 20));
  set_memory_limit("GPU:1", 0);
  EXPECT_EQ(item<float>(sum(a)), static_cast<float>(4 << 20));
  EXPECT_EQ(last_placement().copies, 1U) << "copied anew";
}

TEST(Copies, AVariablesNewValueIsNotHiddenByAKeptCopy) {
  simulate_gpus(2);
  Variable v(on_device("GPU:0", ones({4})));
  const DeviceScope on("GPU:1");
  EXPECT_EQ(item<float>(sum(v.value() + 0)), 4.F);
  v.assign(3);
  EXPECT_EQ(item<float>(sum(v.value() + 0)), 12.F);
  v.assign_add(1);
  EXPECT_EQ(item<float>(sum(v.value() + 0)), 16.F);
  EXPECT_EQ(read<float>(v.value()), std::vector<float>(4, 4.F));
}

TEST(CopyPolicy, WarnSaysWhatIsCopiedWhyAndWhere) {
  simulate_gpus(2);
  const Tensor a = on_device("GPU:0", ones({10}));
  set_copy_policy(CopyPolicy::warn);
  const CapturedLog log;
  const DeviceScope on("GPU:1");
  const std::uint32_t line = __LINE__ + 1;
  a * 2;
  ASSERT_EQ(log.of(LogLevel::warning).size(), 1U);
  EXPECT_EQ(log.of(LogLevel::warning)[0], std::string("before computing Mul input #0 was expected to be on ") + gpu1 +
                                              " but is actually on " + gpu0 + " (" + __FILE__ + ":" + std::to_string(line) +
                                              "). This triggers a copy of 40 bytes, which can be a performance bottleneck.");
}

TEST(CopyPolicy, ExplicitRefusesAtTheCallAndLeavesAllUsable) {
  simulate_gpus(2);
  const Tensor a = on_device("GPU:0", ones({10}));
  set_copy_policy(CopyPolicy::explicit_only);
  const DeviceScope on("GPU:1");
  const Tensor b = ones({10});
  const std::uint64_t before = memory_info("GPU:1").in_use;
  const std::uint32_t line = __LINE__ + 2;
  try {
    b + a;
    FAIL();
  } catch (const CopyForbidden& e) {
    EXPECT_TRUE(e.message().starts_with(
        std::string("Tensors on conflicting devices: cannot compute add as input #1 was expected to be on ") + gpu1 +
        " but is actually on " + gpu0 + " (operation running on " + gpu1 + ")."))
        << e.what();
    EXPECT_EQ(e.site().line(), line);
    EXPECT_STREQ(e.site().file(), __FILE__);
  }
  EXPECT_EQ(last_placement().copies, 0U) << "none was made";
  EXPECT_EQ(memory_info("GPU:1").in_use, before);
  EXPECT_EQ(item<float>(sum(b + copy_to(a, "GPU:1"))), 20.F);
  EXPECT_EQ(read<float>(a).size(), 10U) << "reading is not an implicit copy between devices";
  set_copy_policy(CopyPolicy::silent);
  EXPECT_EQ(item<float>(sum(b + a)), 20.F);
}

TEST(CopyPolicy, IsTheThreadsOwn) {
  simulate_gpus(2);
  const Tensor a = on_device("GPU:0", ones({10}));
  set_copy_policy(CopyPolicy::explicit_only);
  float total = 0;
  std::thread([&] {
    const DeviceScope on("GPU:1");
    total = item<float>(sum(a * 2));
  }).join();
  EXPECT_EQ(total, 20.F);
}

TEST(Copies, OfAViewBringOnlyWhatItShows) {
  simulate_gpus(2);
  const Tensor a = on_device("GPU:0", ones({100, 10}));
  const DeviceScope on("GPU:1");
  EXPECT_EQ(item<float>(sum(transpose(slice(a, 0, {0, 100, 50})))), 20.F);
  EXPECT_EQ(item<float>(sum(slice(a, 0, {3, 5}) * 2)), 40.F);
  slice(a, 0, {3, 5}) * 2;
  EXPECT_EQ(last_placement().bytes, 80U);
}

}  // namespace
}  // namespace tutti
