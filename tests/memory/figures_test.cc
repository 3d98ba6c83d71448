// What a device's memory tells about itself.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/journal/journal.h"
#include "tutti/memory/device_memory.h"
#include "tutti/memory/memory_report.h"

namespace tutti {
namespace {

TEST(MemoryInfo, CountsUsePeakRequestsAndReserve) {
  HandDevice device;
  DeviceMemory memory(device, {});
  Ref<Buffer> a = memory.allocate(1000, StreamId::none, {});
  Ref<Buffer> b = memory.allocate(100'000, StreamId::none, {});
  MemoryInfo info = memory.info();
  EXPECT_EQ(info.requested, 101'000U);
  EXPECT_GE(info.in_use, info.requested);
  EXPECT_EQ(info.in_use % 256, 0U);
  EXPECT_EQ(info.peak, info.in_use);
  EXPECT_EQ(info.reserved, device.space.mapped());
  EXPECT_EQ(info.allocations, 2U);
  const std::uint64_t peak = info.peak;
  b = nullptr;
  EXPECT_EQ(memory.info().in_use, 1024U);
  EXPECT_EQ(memory.info().peak, peak);
  memory.reset_peak();
  EXPECT_EQ(memory.info().peak, 1024U);
}

TEST(MemoryInfo, MeasuresTheLargestFreeBlockAndFragmentation) {
  HandDevice device;
  DeviceMemory memory(device, {});
  std::vector<Ref<Buffer>> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(memory.allocate(512 * kibibyte, StreamId::none, {}));
  ASSERT_EQ(memory.info().reserved, 2 * mebibyte);
  EXPECT_EQ(memory.info().largest_free_block, 0U);
  EXPECT_EQ(memory.info().fragmentation, 0.0);
  blocks[0] = nullptr;
  blocks[2] = nullptr;
  EXPECT_EQ(memory.info().largest_free_block, 512 * kibibyte);
  EXPECT_DOUBLE_EQ(memory.info().fragmentation, 0.5);
  blocks[1] = nullptr;
  EXPECT_EQ(memory.info().largest_free_block, 1536 * kibibyte);
  EXPECT_EQ(memory.info().fragmentation, 0.0);
}

TEST(MemoryOwners, AreTheCallSitesOfWhatIsLiveLargestFirst) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const Site small;
  const Site large;
  const Ref<Buffer> a = memory.allocate(1024, StreamId::none, small);
  const Ref<Buffer> b = memory.allocate(2048, StreamId::none, small);
  const Ref<Buffer> c = memory.allocate(8192, StreamId::none, large);
  memory.allocate(100'000, StreamId::none, {});
  const auto owners = memory.owners();
  ASSERT_EQ(owners.size(), 2U);
  EXPECT_EQ(owners[0].site, large);
  EXPECT_EQ(owners[0].bytes, 8192U);
  EXPECT_EQ(owners[0].buffers, 1U);
  EXPECT_EQ(owners[1].site, small);
  EXPECT_EQ(owners[1].bytes, 3072U);
  EXPECT_EQ(owners[1].buffers, 2U);
}

TEST(LeakReport, NamesTheOwnersOrIsEmpty) {
  HandDevice device;
  DeviceMemory memory(device, {});
  EXPECT_EQ(leak_report(memory), "");
  const Site here;
  Ref<Buffer> kept = memory.allocate(4096, StreamId::none, here);
  const std::string report = leak_report(memory);
  EXPECT_NE(report.find("4 KiB in 1 buffer still owned on"), std::string::npos) << report;
  EXPECT_NE(report.find(device.name()), std::string::npos) << report;
  EXPECT_NE(report.find(":" + std::to_string(here.line())), std::string::npos) << report;
  kept = nullptr;
  EXPECT_EQ(leak_report(memory), "");
}

TEST(MemoryJournal, RecordsAllocationsAndFreesWhileATraceRuns) {
  HandDevice device;
  DeviceMemory memory(device, {});
  memory.allocate(1, StreamId::none, {});
  journal::start();
  const Site here;
  memory.allocate(4096, StreamId::none, here);
  journal::stop();
  std::vector<journal::Event> events;
  for (const auto& thread : journal::snapshot().threads) events.insert(events.end(), thread.events.begin(), thread.events.end());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, journal::EventKind::alloc);
  EXPECT_EQ(events[1].kind, journal::EventKind::free);
  for (const journal::Event& event : events) {
    EXPECT_EQ(event.value, 4096U);
    EXPECT_EQ(event.site, here);
    EXPECT_EQ(event.detail, device.name());
  }
}

}  // namespace
}  // namespace tutti
