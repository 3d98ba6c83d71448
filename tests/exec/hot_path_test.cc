// Once it has run in, an op costs no heap allocation: not in the caller, not on a worker, on no device.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tutti/tutti.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUTTI_SANITIZED 1
#endif
#endif

namespace {
std::atomic<std::size_t> heap_allocations{0};
}

#ifndef TUTTI_SANITIZED

// Every way to the heap passes here: the library, its workers, and C code below them. Sanitizers bring a malloc of their own.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, bytes);
  return *out != nullptr ? 0 : 12;
}
}

#endif

namespace tutti {
namespace {

constexpr int warm_up = 5000;
constexpr int counted = 1000;

// What so many calls allocate once as many have run in, their work on the device included.
template <class Call>
std::size_t allocations(const char* device, Call&& call) {
  const Stream stream = default_stream(device);
  const auto round = [&](int count) {
    for (int i = 0; i < count; ++i) call();
    while (!stream.is_idle()) std::this_thread::yield();  // a sync would do allocations of its own
  };
  round(warm_up);
  // A worker that the system starts late allocates once, in some round; an op that allocates does so in every round.
  std::size_t made = 0;
  for (int i = 0; i < 20; ++i) {
    const std::size_t before = heap_allocations.load();
    round(counted);
    made = heap_allocations.load() - before;
    if (made == 0) break;
  }
  return made;
}

class HotPath : public testing::TestWithParam<const char*> {
 protected:
  HotPath() {
    simulate_gpus(1);
#ifdef TUTTI_SANITIZED
    is_sanitized_ = true;
#endif
  }
  void SetUp() override {
    if (is_sanitized_) GTEST_SKIP() << "a sanitizer's own allocator cannot be counted";
    set_synchronous_execution(std::string_view(GetParam()) == "CPU_in_the_caller");
  }
  [[nodiscard]] const char* device() const { return std::string_view(GetParam()).substr(0, 3) == "GPU" ? "GPU:0" : "CPU:0"; }

 private:
  bool is_sanitized_ = false;
};

INSTANTIATE_TEST_SUITE_P(Each, HotPath, testing::Values("CPU_in_the_caller", "CPU_enqueued", "GPU_simulated"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(HotPath, TheCounterCounts) {
  const std::size_t before = heap_allocations.load();
  delete new int(1);
  std::free(std::malloc(8));
  EXPECT_GE(heap_allocations.load() - before, 1U);
}

TEST_P(HotPath, AnAddOfTwoTensorsAllocatesNothing) {
  const DeviceScope on(device());
  const Tensor a = ones({32, 32});
  const Tensor b = ones({32, 32});
  EXPECT_EQ(allocations(device(), [&] { add(a, b); }), 0U);
}

TEST_P(HotPath, AChainWithNumbersAndBroadcastingAllocatesNothing) {
  const DeviceScope on(device());
  const Tensor a = ones({32, 32});
  const Tensor row = ones({32});
  EXPECT_EQ(allocations(device(), [&] { relu(a * row + 1.5); }), 0U);
}

TEST_P(HotPath, ADrawFromTheDefaultGeneratorAllocatesNothing) {
  const DeviceScope on(device());
  EXPECT_EQ(allocations(device(), [&] { uniform({32, 32}); }), 0U);
}

TEST_P(HotPath, AnUpdateInPlaceAllocatesNothing) {
  const DeviceScope on(device());
  Tensor x = ones({32, 32});
  EXPECT_EQ(allocations(device(), [&] { x = add(std::move(x), 1); }), 0U);
  Variable v(x);
  EXPECT_EQ(allocations(device(), [&] { v.assign_add(1); }), 0U);
}

TEST_P(HotPath, ASumOfManyTensorsAllocatesNothing) {
  const DeviceScope on(device());
  const std::vector<Tensor> five(5, ones({32, 32}));
  EXPECT_EQ(allocations(device(), [&] { add_n(five); }), 0U);
  const std::vector<Tensor> seven(7, ones({4, 4, 4, 4}));
  EXPECT_EQ(allocations(device(), [&] { add_n(seven); }), 0U);
}

TEST_P(HotPath, ASmallConstantAllocatesNothing) {
  const DeviceScope on(device());
  EXPECT_EQ(allocations(device(), [&] { constant(1.F); }), 0U);
  EXPECT_EQ(allocations(device(), [&] { constant({1.F, 2.F, 3.F}); }), 0U);
  EXPECT_EQ(allocations(device(), [&] { constant({{true, false}, {false, true}}); }), 0U);
}

TEST_P(HotPath, AnOpThatChangesStreamsAllocatesNothing) {
  const DeviceScope on(device());
  Stream other(device());
  const Tensor a = ones({32, 32});
  const auto there_and_back = [&] {
    const Tensor here = a + a;
    Tensor there;
    {
      const StreamScope scope(other);
      there = here * here;
    }
    there + here;
  };
  EXPECT_EQ(allocations(device(), there_and_back), 0U);
}

TEST_P(HotPath, AnOpWhoseInputsAreContiguousCopiesNothing) {
  const DeviceScope on(device());
  const Tensor x = ones({32, 32});
  EXPECT_EQ(allocations(device(), [&] { softmax(x); }), 0U);
}

TEST_P(HotPath, ReadingAReadyValueAllocatesNothingOnTheCpu) {
  if (std::string_view(device()) != "CPU:0") GTEST_SKIP() << "a value on a GPU is copied to the host first";
  const DeviceScope on(device());
  const Tensor x = sum(ones({32, 32}));
  x.sync();
  EXPECT_EQ(allocations(device(), [&] { item<float>(x); }), 0U);
}

}  // namespace
}  // namespace tutti
