// The door's account against CUPTI's: whatever blocks the host in the CUDA driver does so behind the door.
#include <dlfcn.h>

#include <thread>

#include "cuda/cupti_blocking_calls.h"
#include "cuda/gpu.h"

namespace tutti::testing_cuda {

namespace {

class Cupti : public OnGpu {
 protected:
  void configure(const PhysicalDevice& gpu) override {
    set_logical_device_configuration(gpu, {{.memory_limit = GiB(4)}, {.memory_limit = GiB(1)}});
  }
};

std::string listed(const std::map<std::string, std::uint64_t>& calls) {
  std::string out;
  for (const auto& [name, count] : calls) out += "  " + name + " x " + std::to_string(count) + '\n';
  return out;
}

void compute(int round) {
  std::vector<float> values(1000, 1.F);
  Tensor x = constant(values, {1000});
  x = exp(relu(x * 0.5 + 1)) + uniform({1000}, {.key = 1});
  x = where(cast(x, DType::boolean), x, zeros({1000}));
  EXPECT_EQ(nonzero(x).shape()[0], item<std::int64_t>(count_nonzero(x)));
  (void)take(x, constant({std::int64_t{3}, std::int64_t{-1}}));
  (void)contiguous(transpose(reshape(x, {10, 100})));
  (void)add_n(std::vector<Tensor>(5, x));
  for (const DType dtype : {DType::i32, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor a = ones({64 + round, 32}, dtype);
    (void)matmul(a, transpose(ones({48, 32}, dtype)));
    (void)sum(a, {1});
  }
  (void)matmul(ones({4, 16, 16}), ones({4, 16, 16}));
  (void)read<float>(x);
}

void move_bytes() {
  // Ordinary memory of the program's own, larger than what is staged at once.
  std::vector<std::uint8_t> large(MiB(24) + 5, 3);
  const Tensor x = constant(large, {static_cast<std::int64_t>(large.size())});
  EXPECT_TRUE(read<std::uint8_t>(x) == large);
  const Tensor lent = wrap_host_memory(large.data(), DType::u8, {static_cast<std::int64_t>(large.size())}, [] {});
  const Tensor there = copy_to(lent, "GPU:1");
  EXPECT_TRUE(read<std::uint8_t>(copy_to(there, "GPU:0")) == large);
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    Tensor host;
    {
      const DeviceScope on("CPU:0");
      host = ones({5000}) + 1;
    }
    EXPECT_EQ(item<float>(sum(host * 2)), 20'000);
    (void)copy_to(copy_to(host, "GPU:0"), "CPU:0");
  }
  set_synchronous_execution(true);
  sync_devices();
}

void use_streams() {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      const DeviceScope on("GPU:0");
      Stream first("GPU:0", {.most_ops = 8});
      Stream second("GPU:0");
      Event begin({.timing = true});
      Event end({.timing = true});
      begin.record(first);
      Tensor x = zeros({100});
      for (int i = 0; i < 100; ++i) {
        const StreamScope in(i % 2 == 0 ? first : second);
        x = x + 1;
      }
      second.wait(first);
      end.record(second);
      end.sync();
      (void)Event::elapsed(begin, end);
      first.sync();
      EXPECT_EQ(item<float>(sum(x)), 10'000);
      while (!try_read<float>(x)) std::this_thread::yield();
    });
  }
}

void press_memory() {
  const DeviceScope on("GPU:1");
  std::vector<Tensor> held;
  try {
    for (int i = 0; i < 100; ++i) held.push_back(ones({1 << 24}));
  } catch (const OutOfMemory&) {
    held.resize(held.size() / 2);
  }
  for (int i = 0; i < 20; ++i) (void)(ones({1 << 22}) + 1);
  held.clear();
  sync_devices();
  EXPECT_GT(trim_memory("GPU:1"), 0U);
  (void)item<float>(sum(ones({1 << 22})));
}

}  // namespace

TEST_F(Cupti, EveryBlockingDriverCallIsBehindTheDoor) {
  const BlockingCalls calls;
  if (!calls.why_not().empty()) GTEST_SKIP() << "CUPTI cannot be used here: " << calls.why_not();
  for (int round = 0; round < 3; ++round) {
    compute(round);
    move_bytes();
    use_streams();
    press_memory();
    Variable v(zeros({100}));
    for (int i = 0; i < 20; ++i) v.assign_add(1);
    synchronize("GPU:0");
    v.value().sync();
    sync_devices();
    (void)trim_memory("GPU:0");
  }
  EXPECT_GT(calls.seen(), 1000U) << "CUPTI told nothing";
  EXPECT_FALSE(calls.inside_door().empty()) << "memory was mapped, so something must have been seen";
  std::cout << "behind the door:\n" << listed(calls.inside_door());
  EXPECT_TRUE(calls.outside_door().empty()) << "blocking calls that no entry of the door accounts for:\n"
                                            << listed(calls.outside_door());
}

// A sum that is cut into parts would be two, which takes the host longer than the GPU gains.
TEST_F(Cupti, AProductOfShortSumsIsOneLaunch) {
  const BlockingCalls calls;
  if (!calls.why_not().empty()) GTEST_SKIP() << "CUPTI cannot be used here: " << calls.why_not();
  setenv("TUTTI_CACHE_DIR", "/proc/no/such/folder", 1);  // nothing that the clock chose
  for (const std::int64_t side : {32, 256}) {
    const Tensor a = ones({side, side});
    (void)matmul(a, a);
    const std::uint64_t before = calls.launches();
    for (int i = 0; i < 10; ++i) (void)matmul(a, a);
    EXPECT_EQ(calls.launches() - before, 10U) << side;
  }
}

// In tiles: products over strips would be more.
TEST_F(Cupti, AttentionOfF32IsOneLaunch) {
  const BlockingCalls calls;
  if (!calls.why_not().empty()) GTEST_SKIP() << "CUPTI cannot be used here: " << calls.why_not();
  const Tensor x = ones({1, 2, 100, 64});
  (void)scaled_dot_product_attention(x, x, x, {.causal = true});
  const std::uint64_t before = calls.launches();
  for (int i = 0; i < 10; ++i) (void)scaled_dot_product_attention(x, x, x, {.causal = true});
  EXPECT_EQ(calls.launches() - before, 10U);
}

TEST_F(Cupti, ACallThatGoesRoundTheDoorIsNoticed) {
  const BlockingCalls calls;
  if (!calls.why_not().empty()) GTEST_SKIP() << "CUPTI cannot be used here: " << calls.why_not();
  EXPECT_EQ(item<float>(ones({}) + 1), 2);
  const auto before = calls.outside_door();
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(driver, nullptr);
  const auto synchronise = reinterpret_cast<int (*)()>(::dlsym(driver, "cuCtxSynchronize"));
  ASSERT_NE(synchronise, nullptr);
  synchronise();
  EXPECT_EQ(calls.outside_door().size(), before.size() + 1) << listed(calls.outside_door());
  {
    const BlockingRegion allowed(SyncReason::device_sync, Site{});
    synchronise();
  }
  std::uint64_t outside = 0;
  for (const auto& [name, count] : calls.outside_door()) outside += name.find("cuCtxSynchronize") == 0 ? count : 0;
  EXPECT_EQ(outside, 1U);
}

TEST(BlockingNames, AreToldFromTheOthers) {
  for (const char* name : {"cuCtxSynchronize",
                           "cuStreamSynchronize_ptsz",
                           "cuEventSynchronize",
                           "cuMemcpyHtoD_v2",
                           "cuMemcpy",
                           "cuMemsetD8_v2",
                           "cuMemAlloc_v2",
                           "cuMemFree_v2",
                           "cuMemFreeHost",
                           "cuMemHostAlloc",
                           "cuMemCreate",
                           "cuMemMap",
                           "cuMemUnmap",
                           "cuMemSetAccess",
                           "cuModuleLoadData",
                           "cuLibraryLoadData",
                           "cuDevicePrimaryCtxRetain",
                           "cuStreamCreateWithPriority",
                           "cudaMalloc_v3020",
                           "cudaFree_v3020",
                           "cudaMemcpy_v3020",
                           "cudaDeviceSynchronize_v3020",
                           "cudaHostRegister_v4000"})
    EXPECT_TRUE(is_blocking(name)) << name;
  for (const char* name :
       {"cuMemcpyHtoDAsync_v2", "cuMemsetD8Async", "cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent", "cuStreamQuery",
        "cuEventQuery", "cuMemAddressReserve", "cuPointerGetAttribute", "cuCtxGetCurrent", "cudaLaunchKernel_v7000",
        "cudaMemcpyAsync_v3020", "cuMemAllocAsync", "cuEventCreate", "cuMemRelease", "cuStreamWriteValue64_v2"})
    EXPECT_FALSE(is_blocking(name)) << name;
}

}  // namespace tutti::testing_cuda
