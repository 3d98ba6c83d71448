// What is done before a launch takes no lock that others need: loading, choosing, and asking whether work is done.
#include <atomic>
#include <future>
#include <thread>

#include "cuda/device_ops.h"
#include "cuda/gpu.h"
#include "tutti/exec/op_table.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::testing_cuda {

namespace {

using namespace std::chrono_literals;

class GpuPrepare : public OnGpu {};

std::uint64_t passages(SyncReason reason) {
  std::uint64_t calls = 0;
  for (const SyncTotals& entry : sync_totals()) calls += entry.reason == reason ? entry.calls : 0;
  return calls;
}

// Someone stands in the middle of something until the test lets him go.
struct Gate {
  std::atomic<bool> entered{false};
  std::atomic<bool> opened{false};

  void pass() {
    entered = true;
    entered.notify_all();
    opened.wait(false);
  }
  void open() {
    opened = true;
    opened.notify_all();
  }
};

void fill_with_zeros(const KernelCall& call, KernelContext& context) {
  kernels::cuda::check(cudaMemsetAsync(call.out().data, 0, 4, kernels::cuda::queue_of(context).stream()), "zeros", call);
}

void prepare_behind_gate(const KernelCall& call, KernelContext&) { call.attributes->as<Gate*>()->pass(); }

Gate* settling_gate = nullptr;

// Called while the work is retired.
std::string describe_behind_gate(const cuda::Trap&) {
  if (settling_gate != nullptr) settling_gate->pass();
  return "noted by the test";
}

void note_something(const KernelCall& call, KernelContext& context) {
  kernels::cuda::queue_of(context).arm_trap(describe_behind_gate)->code = 1;
  fill_with_zeros(call, context);
}

void infer_scalar(Inference& in) { in.output(DType::f32, {}); }

Tensor call_scalar(const char* name, Prepare prepare, Kernel kernel, const Attributes& attributes) {
  register_op({.name = name, .infer = infer_scalar});
  register_kernel(name, BackendKind::cuda, kernel, nullptr, any_dtype, prepare);
  return call_op(name, {}, attributes)[0];
}

}  // namespace

TEST_F(GpuPrepare, FirstLaunchesLoadNothing) {
  ones({4}).sync();
  EXPECT_GT(passages(SyncReason::module_load), 0U) << "making the context is in the ledger";
  reset_sync_totals();
  const Tensor x = uniform({1000}, {.key = 3});
  Tensor y = exp(x) + sqrt(x) * 3;
  y = where(greater(y, 2), y, zeros({1000}));
  (void)item<f16>(sum(cast(y, DType::f16)));
  (void)sort(reshape(uniform({1 << 20}, {.key = 4}), {1 << 20}));  // CUB's own kernels
  (void)item<float>(sum(softmax(reshape(y, {10, 100}))));
  sync_devices();
  EXPECT_EQ(passages(SyncReason::module_load), 0U) << "a launch loaded code";
}

TEST_F(GpuPrepare, AProductsAlgorithmIsChosenOnce) {
  const Tensor a = ones({96, 64});
  const Tensor b = ones({64, 80});
  a.sync();
  b.sync();
  reset_sync_totals();
  EXPECT_EQ(item<float>(slice(reshape(matmul(a, b), {96 * 80}), 0, {0, 1})), 64);
  EXPECT_GT(passages(SyncReason::module_load), 0U) << "opening the library and choosing are in the ledger";
  for (int i = 0; i < 2; ++i) (void)matmul(a, b);  // where their results lie may differ
  reset_sync_totals();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(item<float>(sum(matmul(a, b))), 64 * 96 * 80);
  EXPECT_EQ(passages(SyncReason::module_load), 0U);
}

TEST_F(GpuPrepare, ProductsPreparedByManyThreadsAtOnceAreRight) {
  std::vector<std::jthread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const DeviceScope on("GPU:0");
      for (std::int64_t i = 1; i <= 24; ++i) {
        const std::int64_t k = 16 + i + t % 2;
        EXPECT_EQ(item<float>(sum(matmul(ones({32, k}), ones({k, 24})))), static_cast<float>(32 * k * 24));
      }
    });
  }
}

TEST_F(GpuPrepare, LargeEliminationsAreRightTheFirstTime) {
  constexpr std::int64_t n = 1500;
  const Tensor a = uniform({n, n}, {.key = 5}) + eye(n) * static_cast<float>(n);
  const Tensor x = matmul(a, solve(a, ones({n, 1})));
  EXPECT_LT(item<float>(max(abs(x - 1))), 1e-3F);
}

TEST_F(GpuPrepare, AKernelThatPreparesKeepsNobodyFromItsStream) {
  ones({4}).sync();
  Stream stream("GPU:0");
  Gate gate;
  std::jthread slow([&] {
    const DeviceScope on("GPU:0");
    const StreamScope in(stream);
    call_scalar("TestSlowPrepare", prepare_behind_gate, fill_with_zeros, Attributes(&gate)).sync();
  });
  gate.entered.wait(false);
  auto other = std::async(std::launch::async, [&] {
    const DeviceScope on("GPU:0");
    const StreamScope in(stream);
    return item<float>(sum(ones({100}) + 1));
  });
  EXPECT_EQ(other.wait_for(20s), std::future_status::ready);
  gate.open();
  EXPECT_EQ(other.get(), 200);
}

TEST_F(GpuPrepare, AskingWhetherWorkIsDoneWaitsForNobodyWhoSettles) {
  ones({4}).sync();
  Gate gate;
  Stream first("GPU:0");
  Stream second("GPU:0");
  Tensor noted;
  Tensor plain;
  {
    const StreamScope in(first);
    noted = call_scalar("TestNoted", nullptr, note_something, {});
  }
  {
    const StreamScope in(second);
    plain = ones({4}) + 1;
  }
  settling_gate = &gate;
  std::jthread settler([&] { EXPECT_THROW((void)item<float>(noted), KernelFailed); });
  gate.entered.wait(false);
  auto asked = std::async(std::launch::async, [&] { return plain.is_ready() || noted.is_ready(); });
  const bool came_back = asked.wait_for(20s) == std::future_status::ready;
  gate.open();
  EXPECT_TRUE(came_back) << "the question waited for the lock";
  EXPECT_FALSE(asked.get()) << "what is not retired is not done";
  settler.join();
  EXPECT_TRUE(noted.is_ready());
  EXPECT_TRUE(comes_true([&] { return plain.is_ready(); }));
  EXPECT_EQ(read<float>(plain), std::vector<float>(4, 2));
  EXPECT_THROW((void)item<float>(noted), KernelFailed) << "a value that failed stays failed";
}

// Failures are told by the time a value is said to be ready, whoever retired it.
TEST_F(GpuPrepare, WhatIsSaidToBeReadyHasItsFailure) {
  for (int round = 0; round < 200; ++round) {
    const Tensor bad = misbehave(ones({4}), Misdeed::throws);
    std::vector<std::jthread> askers;
    for (int t = 0; t < 3; ++t) {
      askers.emplace_back([&] {
        ASSERT_TRUE(comes_true([&] { return bad.is_ready(); }));
        EXPECT_TRUE(bad.impl().buffer()->failure().is_set());
      });
    }
  }
  clear_errors();
}

}  // namespace tutti::testing_cuda
