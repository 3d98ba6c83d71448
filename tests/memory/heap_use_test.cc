// Once it has run in, the pool makes no heap allocation: not for a block, not for a free, not for memory in use.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/memory/device_memory.h"

namespace {
std::atomic<std::size_t> heap_allocations{0};
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tutti {
namespace {

TEST(HeapUse, IsNoneForAllocationsAndFreesInASteadyState) {
  HandDevice device;
  HandStream stream(device, {});
  HandStream other(device, {});
  DeviceMemory memory(device, {});
  std::vector<Ref<Buffer>> held(64);
  const auto round = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20'000; ++i) {
      Ref<Buffer>& slot = held[random() % held.size()];
      const StreamId user = random() % 2 == 0 ? stream.id() : StreamId::none;
      slot = memory.allocate(random() % (std::size_t{1} << (random() % 18)), user, {});
      if (random() % 2 == 0) slot->note_write(stream.next(), "test");
      if (random() % 4 == 0) slot->note_read(other.next());
      if (i % 64 == 0) stream.finish(stream.last());
      if (i % 64 == 0) other.finish(other.last());
    }
  };
  round(1);
  round(2);
  const std::size_t before = heap_allocations.load();
  round(1);
  EXPECT_EQ(heap_allocations.load() - before, 0U);
}

}  // namespace
}  // namespace tutti
