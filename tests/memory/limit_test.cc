// Limits that move while memory is in use, trimming, and mapping up front.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/base/error.h"
#include "tutti/memory/device_memory.h"

namespace tutti {
namespace {

TEST(MemoryLimit, IsTheCapacityUnlessGiven) {
  HandDevice device(8 * mebibyte);
  EXPECT_EQ(DeviceMemory(device, {}).info().limit, 8 * mebibyte);
  EXPECT_EQ(DeviceMemory(device, {.limit = mebibyte}).info().limit, mebibyte);
}

TEST(MemoryLimit, IsNeverExceededByWhatIsMapped) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 3 * mebibyte});
  std::vector<Ref<Buffer>> held;
  EXPECT_THROW(while (true) held.push_back(memory.allocate(100'000, StreamId::none, {})), OutOfMemory);
  EXPECT_LE(device.space.mapped(), 3 * mebibyte);
  EXPECT_GE(held.size(), 27U);
}

TEST(MemoryLimit, WithinAGranuleIsHeldByWhatIsInUse) {
  HandDevice device;
  const std::uint64_t granule = device.space.granule();
  DeviceMemory memory(device, {.limit = granule + granule / 2});
  std::vector<Ref<Buffer>> held;
  EXPECT_THROW(while (true) held.push_back(memory.allocate(256, StreamId::none, {})), OutOfMemory);
  EXPECT_EQ(memory.info().in_use, granule + granule / 2);
  EXPECT_EQ(memory.info().peak, granule + granule / 2);
  EXPECT_EQ(device.space.mapped(), 2 * granule);
  held.resize(1);
  memory.set_limit(256, {});
  EXPECT_EQ(device.space.mapped(), granule);
  EXPECT_THROW(memory.set_limit(255, {}), InvalidArgument);
}

TEST(MemoryLimit, BelowTheSmallestBlockSaysSo) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 100});
  try {
    memory.allocate(16, StreamId::none, {});
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("takes a block of 256 B"), std::string::npos) << e.what();
  }
}

TEST(MemoryLimit, MayBeRaisedAtAnyTime) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = mebibyte});
  const Ref<Buffer> held = memory.allocate(mebibyte, StreamId::none, {});
  EXPECT_THROW(memory.allocate(mebibyte, StreamId::none, {}), OutOfMemory);
  memory.set_limit(2 * mebibyte, {});
  EXPECT_NO_THROW(memory.allocate(mebibyte, StreamId::none, {}));
}

TEST(MemoryLimit, RefusesToBeLoweredBelowWhatIsInUse) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const Ref<Buffer> held = memory.allocate(3 * mebibyte, StreamId::none, {});
  const Site here;
  try {
    memory.set_limit(2 * mebibyte, here);
    FAIL() << "the limit was lowered";
  } catch (const InvalidArgument& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("limit of 2 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("3 MiB are in use"), std::string::npos) << text;
    EXPECT_NE(text.find(here.to_string()), std::string::npos) << text;
  }
  EXPECT_EQ(memory.info().limit, device.space.capacity());
}

TEST(MemoryLimit, GivesFreeMemoryBackWhenLoweredBelowWhatIsMapped) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const Ref<Buffer> held = memory.allocate(mebibyte, StreamId::none, {});
  memory.allocate(10 * mebibyte, StreamId::none, {});
  ASSERT_GT(device.space.mapped(), 10 * mebibyte);
  memory.set_limit(2 * mebibyte, {});
  EXPECT_LE(device.space.mapped(), 2 * mebibyte);
  EXPECT_EQ(memory.info().limit, 2 * mebibyte);
}

TEST(MemoryLimit, WaitsForFreedMemoryStillInUseByWorkInFlight) {
  HandDevice device;
  HandStream stream(device, {});
  DeviceMemory memory(device, {});
  Ref<Buffer> busy = memory.allocate(8 * mebibyte, stream.id(), {});
  busy->note_write(stream.next(), "test");
  busy = nullptr;
  memory.set_limit(mebibyte, {});
  EXPECT_EQ(stream.blocked, 1U);
  EXPECT_EQ(device.space.mapped(), 0U);
}

TEST(MemoryLimit, IsRefusedWhenWhatIsInUseIsScatteredOverMoreGranules) {
  HandDevice device;
  DeviceMemory memory(device, {});
  std::vector<Ref<Buffer>> all;
  for (int i = 0; i < 64; ++i) all.push_back(memory.allocate(32 * kibibyte, StreamId::none, {}));
  for (std::size_t i = 0; i < all.size(); i += 2) all[i] = nullptr;  // every granule of 64 KiB stays half used
  try {
    memory.set_limit(mebibyte + 512 * kibibyte, {});
    FAIL() << "the limit was lowered";
  } catch (const InvalidArgument& e) {
    EXPECT_NE(std::string(e.what()).find("1 MiB are in use in 2 MiB of mapped memory"), std::string::npos) << e.what();
  }
  EXPECT_EQ(memory.info().limit, device.space.capacity());
}

TEST(MemoryTrim, UnmapsWholeFreeGranulesAndSaysHowMuch) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const Ref<Buffer> held = memory.allocate(100, StreamId::none, {});
  memory.allocate(4 * mebibyte, StreamId::none, {});
  const std::size_t before = device.space.mapped();
  const std::uint64_t given = memory.trim({});
  EXPECT_EQ(before - device.space.mapped(), given);
  EXPECT_EQ(device.space.mapped(), 64 * kibibyte);
  EXPECT_EQ(memory.info().reserved, 64 * kibibyte);
  EXPECT_EQ(memory.trim({}), 0U);
}

TEST(MemoryTrim, LeavesMemoryThatWorkInFlightUses) {
  HandDevice device;
  HandStream stream(device, {});
  DeviceMemory memory(device, {});
  Ref<Buffer> busy = memory.allocate(2 * mebibyte, stream.id(), {});
  busy->note_write(stream.next(), "test");
  busy = nullptr;
  EXPECT_EQ(memory.trim({}), 0U);
  stream.finish(stream.last());
  EXPECT_EQ(memory.trim({}), 2 * mebibyte);
}

TEST(MemoryGrowthSwitchedOff, MapsNearlyAllUpFrontWithinTheLimit) {
  HandDevice device(32 * mebibyte);
  {
    const DeviceMemory memory(device, {.growth = false});
    EXPECT_EQ(device.space.mapped(), 31 * mebibyte);
  }
  const DeviceMemory memory(device, {.limit = 5 * mebibyte, .growth = false});
  EXPECT_EQ(device.space.mapped(), 5 * mebibyte);
  EXPECT_EQ(memory.info().in_use, 0U);
}

TEST(MemoryGrowthSwitchedOff, ServesRequestsWithoutMappingMore) {
  HandDevice device(32 * mebibyte);
  DeviceMemory memory(device, {.growth = false});
  const std::size_t calls = device.space.map_calls;
  std::vector<Ref<Buffer>> held;
  for (int i = 0; i < 30; ++i) held.push_back(memory.allocate(mebibyte, StreamId::none, {}));
  EXPECT_EQ(device.space.map_calls, calls);
}

}  // namespace
}  // namespace tutti
