// Memory is allocated and let go from any thread, after a fork, and after the DeviceMemory itself is gone.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/memory/device_memory.h"

namespace tutti {
namespace {

// Every thread writes what it owns, on its own stream or as the host, and hands some of it to the others.
TEST(MemoryFromAnyThread, LiveBlocksNeverMeetUnderStress) {
  constexpr unsigned threads = 4;
  HandDevice device(32 * mebibyte);
  std::vector<std::unique_ptr<HandStream>> streams;
  for (unsigned i = 0; i < threads; ++i) streams.push_back(std::make_unique<HandStream>(device, StreamOptions{}));
  DeviceMemory memory(device, {.limit = 24 * mebibyte});
  std::mutex exchange_mutex;
  std::vector<Ref<Buffer>> exchange;

  const auto work = [&](unsigned me) {
    std::mt19937_64 random(1000 + me);
    std::vector<Ref<Buffer>> mine;
    HandStream& stream = *streams[me];
    for (int step = 0; step < 4000; ++step) {
      if (mine.size() > 24 || (!mine.empty() && random() % 2 == 0)) {
        const std::size_t i = random() % mine.size();
        std::swap(mine[i], mine.back());
        const auto stamp = static_cast<std::byte>(reinterpret_cast<std::uintptr_t>(mine.back().get()) >> 6U);
        ASSERT_EQ(mine.back()->address()[0], stamp) << "thread " << me << ", seed " << 1000 + me << ", step " << step;
        if (random() % 4 == 0) {
          const std::lock_guard lock(exchange_mutex);
          exchange.push_back(std::move(mine.back()));
          if (exchange.size() > 8) exchange.erase(exchange.begin());
        }
        mine.pop_back();
        continue;
      }
      try {
        // As the host, so that the writing below is legal at once.
        mine.push_back(memory.allocate(1 + random() % (std::size_t{1} << (8 + random() % 11)), StreamId::none, {}));
      } catch (const OutOfMemory&) {
        mine.clear();
        continue;
      }
      mine.back()->address()[0] = static_cast<std::byte>(reinterpret_cast<std::uintptr_t>(mine.back().get()) >> 6U);
      if (random() % 8 == 0) {
        const std::lock_guard order(stream.order());
        mine.back()->note_write(stream.next(), "test");
      }
      if (random() % 16 == 0) {
        const std::lock_guard order(stream.order());
        stream.finish(stream.last());
      }
      if (random() % 512 == 0) memory.trim({});
      if (random() % 256 == 0) {
        EXPECT_LE(memory.info().reserved, 24 * mebibyte);
      }
    }
    // Nobody is left to finish it: others may wait for it.
    const std::lock_guard order(stream.order());
    stream.finish(stream.last());
  };
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i) running.emplace_back(work, i);
  for (std::thread& thread : running) thread.join();
  exchange.clear();
  EXPECT_EQ(memory.info().in_use, 0U);
  EXPECT_EQ(memory.info().requested, 0U);
  memory.trim({});
  EXPECT_EQ(device.space.mapped(), 0U);
  EXPECT_TRUE(device.space.faults.empty());
}

TEST(MemoryAfterItsEnd, BuffersOutliveTheDeviceMemory) {
  HandDevice device;
  Ref<Buffer> kept;
  {
    DeviceMemory memory(device, {});
    kept = memory.allocate(4096, StreamId::none, {});
    memory.allocate(4096, StreamId::none, {});
  }
  std::memset(kept->address(), 1, 4096);
  kept = nullptr;
}

TEST(MemoryAfterItsEnd, GivesEverythingBackToTheDevice) {
  HandDevice device;
  { DeviceMemory(device, {}).allocate(4096, StreamId::none, {}); }
  EXPECT_EQ(device.space.mapped(), 0U);
}

TEST(MemoryAfterAFork, LettingGoIsSafeAndAllocatingIsRefused) {
  guard_against_fork();
  HandDevice device;
  DeviceMemory memory(device, {});
  Ref<Buffer> buffer = memory.allocate(4096, StreamId::none, {});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    buffer = nullptr;  // leaks here, because the lock may be held by a thread the child does not have
    if (memory.info().requested != 4096) ::_exit(2);
    try {
      memory.allocate(1, StreamId::none, {});
    } catch (const InvalidState&) {
      ::_exit(42);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_EQ(memory.info().requested, 4096U);
}

TEST(MemoryAfterShutdown, LettingGoIsLegal) {
  HandDevice device;
  DeviceMemory memory(device, {});
  Ref<Buffer> buffer = memory.allocate(4096, StreamId::none, {});
  set_lifecycle(Lifecycle::shut_down);
  buffer = nullptr;
  EXPECT_EQ(memory.info().in_use, 0U);
  EXPECT_THROW(memory.allocate(1, StreamId::none, {}), InvalidState);
  set_lifecycle(Lifecycle::usable);
}

}  // namespace
}  // namespace tutti
