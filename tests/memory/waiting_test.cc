// A thread that wants memory while another maps some waits for it inside the door.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "memory/hand_device.h"
#include "tutti/hal/door.h"
#include "tutti/memory/device_memory.h"

namespace tutti {
namespace {

// Holds whoever maps until the test lets it go.
class Held {
 public:
  explicit Held(CountedSpace& space) : space_(space) {
    space_.while_mapping = [this] {
      entered_ = true;
      entered_.notify_all();
      opened_.wait(false);
    };
  }
  ~Held() { let_go(); }
  void await_entered() const { entered_.wait(false); }
  void let_go() {
    opened_ = true;
    opened_.notify_all();
  }

 private:
  CountedSpace& space_;
  std::atomic<bool> entered_{false};
  std::atomic<bool> opened_{false};
};

SyncTotals totals_at(Site site) {
  for (const SyncTotals& each : sync_totals()) {
    if (each.site == site) return each;
  }
  return {};
}

bool is_waiting(Site site) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (totals_at(site).calls == 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(MemoryWaiting, AThreadThatWaitsForAnotherThatMapsIsInTheLedger) {
  HandDevice device;
  DeviceMemory memory(device, {});
  reset_sync_totals();
  const Site of_mapper;
  const Site of_waiter;
  Held held(device.space);
  std::jthread mapper([&] { memory.allocate(kibibyte, StreamId::none, of_mapper); });
  held.await_entered();
  std::jthread waiter([&] { memory.allocate(kibibyte, StreamId::none, of_waiter); });
  EXPECT_TRUE(is_waiting(of_waiter));
  held.let_go();
  mapper.join();
  waiter.join();
  for (const Site& site : {of_mapper, of_waiter}) {
    const SyncTotals found = totals_at(site);
    EXPECT_EQ(found.reason, SyncReason::memory_mapping);
    EXPECT_EQ(found.calls, 1U);
    EXPECT_GT(found.blocked_time, 0);
    EXPECT_FALSE(is_demand(found.reason)) << "modes and budgets judge what the program asked for";
  }
  EXPECT_EQ(device.space.map_calls, 1U);
}

TEST(MemoryWaiting, LettingGoMeanwhileIsInTheLedgerWhereTheMemoryWasAskedFor) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const Site of_buffer;
  Ref<Buffer> mine = memory.allocate(kibibyte, StreamId::none, of_buffer);
  reset_sync_totals();
  Held held(device.space);
  std::jthread mapper([&] { memory.allocate(8 * mebibyte, StreamId::none, Site{}); });
  held.await_entered();
  std::jthread releaser([&] { mine = {}; });
  EXPECT_TRUE(is_waiting(of_buffer));
  held.let_go();
  mapper.join();
  releaser.join();
  EXPECT_EQ(totals_at(of_buffer).reason, SyncReason::memory_mapping);
}

TEST(MemoryWaiting, WhatIsShortIsNot) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const Site warm_up;
  { const Ref<Buffer> first = memory.allocate(mebibyte, StreamId::none, warm_up); }
  reset_sync_totals();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) memory.allocate(kibibyte, StreamId::none, Site{});
      });
    }
  }
  EXPECT_TRUE(sync_totals().empty()) << "nobody mapped, so nobody waited";
}

}  // namespace
}  // namespace tutti
