// When memory runs short: caches are asked, work in flight is awaited through the door, pieces are put together, and
// at last the request is refused with a table; afterwards everything goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/base/error.h"
#include "tutti/hal/door.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/memory/device_memory.h"

namespace tutti {
namespace {

std::string refusal_of(DeviceMemory& memory, std::size_t bytes, Site site = {}) {
  try {
    memory.allocate(bytes, StreamId::none, site);
  } catch (const OutOfMemory& e) {
    return e.what();
  }
  return "it was served";
}

TEST(OutOfMemoryTable, SaysWhatWasAskedWhatThereIsWhoHoldsItAndWhatWouldHelp) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  const Site weights;
  const Site cache;
  const Ref<Buffer> a = memory.allocate(2 * mebibyte, StreamId::none, weights);
  const Ref<Buffer> b = memory.allocate(512 * kibibyte, StreamId::none, cache);
  const Ref<Buffer> c = memory.allocate(512 * kibibyte, StreamId::none, cache);
  const Site request;
  const std::string text = refusal_of(memory, 2 * mebibyte, request);
  EXPECT_NE(text.find("out of memory on /job:localhost/replica:0/task:0/device:GPU:0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  request                2 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  limit                  4 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  in use                 3 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  reserved               4 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  largest hole           1 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("2 MiB       1 buffer   "), std::string::npos) << text;
  EXPECT_NE(text.find("1 MiB       2 buffers  "), std::string::npos) << text;
  EXPECT_NE(text.find("let go of at least 1 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("the request was made [at " + request.to_string() + "]"), std::string::npos) << text;
  EXPECT_LT(text.find(":" + std::to_string(weights.line()) + "\n"), text.find(":" + std::to_string(cache.line()) + "\n"));
  EXPECT_EQ(text.find("device said"), std::string::npos) << text;
}

TEST(OutOfMemoryTable, FitsInto80Columns) {
  HandDevice device;
  DeviceMemory memory(device, {});
  device.space.device_has = 4 * mebibyte;
  std::vector<Ref<Buffer>> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(memory.allocate(1000, StreamId::none, std::source_location::current()));
    held.push_back(memory.allocate(1000, StreamId::none, std::source_location::current()));
  }
  for (const std::size_t bytes : {5 * mebibyte, 200 * mebibyte, ~std::size_t{0}}) {
    std::istringstream lines(refusal_of(memory, bytes));
    for (std::string line; std::getline(lines, line);) {
      const std::string table = line.substr(0, line.find(" [at "));
      EXPECT_LE(table.size(), 80U) << line;
    }
  }
}

TEST(OutOfMemoryTable, ListsTheFiveLargestOwners) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = mebibyte});
  std::vector<Ref<Buffer>> held;
  held.push_back(memory.allocate(1, StreamId::none, std::source_location::current()));
  held.push_back(memory.allocate(2, StreamId::none, std::source_location::current()));
  held.push_back(memory.allocate(3, StreamId::none, std::source_location::current()));
  held.push_back(memory.allocate(4, StreamId::none, std::source_location::current()));
  held.push_back(memory.allocate(5, StreamId::none, std::source_location::current()));
  held.push_back(memory.allocate(6, StreamId::none, std::source_location::current()));
  held.push_back(memory.allocate(7, StreamId::none, std::source_location::current()));
  const std::string text = refusal_of(memory, mebibyte);
  std::size_t owners = 0;
  for (std::size_t at = text.find(" buffer   "); at != std::string::npos; at = text.find(" buffer   ", at + 1)) ++owners;
  EXPECT_EQ(owners, 5U);
  EXPECT_NE(text.find("and 2 more call sites"), std::string::npos) << text;
}

TEST(OutOfMemoryTable, QuotesTheDeviceWhenItRefused) {
  HandDevice device;
  DeviceMemory memory(device, {});
  device.space.device_has = 4 * mebibyte;
  const std::string text = refusal_of(memory, 5 * mebibyte);
  EXPECT_NE(text.find("device said: only so much memory on this board"), std::string::npos) << text;
  EXPECT_NE(text.find("the device itself is full"), std::string::npos) << text;
}

TEST(OutOfMemory, IsTheAnswerToAbsurdRequestsAndNothingOverflows) {
  HandDevice device;
  DeviceMemory memory(device, {});
  const std::size_t one = 1;
  for (const std::size_t bytes : {(one << 40U) * 8, one << 47U, one << 63U, ~std::size_t{0} - 1, ~std::size_t{0}}) {
    EXPECT_NE(refusal_of(memory, bytes).find("larger than the limit"), std::string::npos) << bytes;
  }
  EXPECT_EQ(device.space.map_calls, 0U);
  EXPECT_EQ(memory.info().in_use, 0U);
}

TEST(OutOfMemory, LeavesEverythingUsable) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  Ref<Buffer> kept = memory.allocate(3 * mebibyte, StreamId::none, {});
  std::memset(kept->address(), 7, kept->bytes());
  for (int i = 0; i < 3; ++i) EXPECT_THROW(memory.allocate(2 * mebibyte, StreamId::none, {}), OutOfMemory);
  EXPECT_EQ(kept->address()[kept->bytes() - 1], std::byte{7});
  EXPECT_NO_THROW(memory.allocate(mebibyte, StreamId::none, {}));
  kept = nullptr;
  EXPECT_NO_THROW(memory.allocate(4 * mebibyte, StreamId::none, {}));
  EXPECT_TRUE(device.space.faults.empty());
}

TEST(MemoryPressure, TheHostWaitsForWorkInFlightBeforeItGivesUp) {
  HandDevice device;
  HandStream stream(device, {});
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  Ref<Buffer> busy = memory.allocate(4 * mebibyte, stream.id(), {});
  busy->note_write(stream.next(), "test");
  busy = nullptr;
  reset_sync_totals();
  const Site here;
  EXPECT_NO_THROW(memory.allocate(4 * mebibyte, StreamId::none, here));
  EXPECT_EQ(stream.blocked, 1U);
  const auto totals = sync_totals();
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].reason, SyncReason::memory_pressure);
  EXPECT_EQ(totals[0].site, here);
  EXPECT_EQ(sync_counts().demand, 0U);
}

TEST(MemoryPressure, TheHostWaitsOnAsLongAsAnyWorkGetsDone) {
  HandDevice device;
  HandStream stream(device, {});
  stream.done_per_wait = 1;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  Ref<Buffer> busy = memory.allocate(4 * mebibyte, stream.id(), {});
  for (int i = 0; i < 20; ++i) busy->note_write(stream.next(), "test");
  busy = nullptr;
  reset_sync_totals();
  EXPECT_NO_THROW(memory.allocate(4 * mebibyte, StreamId::none, {}));
  EXPECT_EQ(stream.blocked, 20U);
  EXPECT_EQ(sync_totals().at(0).calls, 1U) << "one wait to the ledger";
}

TEST(MemoryPressure, TheHostGivesUpOnWorkThatDoesNotGetDoneAndSaysWhichItWas) {
  HandDevice device;
  HandStream stream(device, {});
  stream.done_per_wait = 0;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  Ref<Buffer> busy = memory.allocate(4 * mebibyte, stream.id(), {});
  busy->note_write(stream.next(), "test");
  busy = nullptr;
  const std::string text = refusal_of(memory, 4 * mebibyte);
  EXPECT_NE(text.find("waited in vain: nothing was finished for 300.0 s (TUTTI_STALL_TIMEOUT)"), std::string::npos) << text;
  EXPECT_NE(text.find("device:GPU:0: 1 pending\n    HandWork, submitted "), std::string::npos) << text;
  stream.done_per_wait = 1;
  EXPECT_NO_THROW(memory.allocate(4 * mebibyte, StreamId::none, {}));
}

TEST(MemoryPressure, TheHostWaitsForNoMoreThanItNeeds) {
  HandDevice device;
  HandStream early(device, {});
  HandStream late(device, {});
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  Ref<Buffer> a = memory.allocate(2 * mebibyte, early.id(), {});
  Ref<Buffer> b = memory.allocate(2 * mebibyte, late.id(), {});
  a->note_write(early.next(), "test");
  b->note_write(late.next(), "test");
  a = nullptr;
  b = nullptr;
  EXPECT_NO_THROW(memory.allocate(2 * mebibyte, StreamId::none, {}));
  EXPECT_EQ(early.blocked, 1U);
  EXPECT_EQ(late.blocked, 0U);
}

TEST(MemoryPressure, AKernelIsRefusedInsteadOfWaitingForItself) {
  HandDevice device;
  HandStream stream(device, {});
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  Ref<Buffer> busy = memory.allocate(4 * mebibyte, stream.id(), {});
  busy->note_write(stream.next(), "test");
  busy = nullptr;
  const InsideKernel inside;
  EXPECT_THROW(memory.allocate(4 * mebibyte, StreamId::none, {}), OutOfMemory);
  EXPECT_EQ(stream.blocked, 0U);
}

Ref<Buffer>& cached() {
  static Ref<Buffer> buffer;
  return buffer;
}
int relief_calls = 0;
bool drop_cache(Device&) noexcept {
  ++relief_calls;
  const bool dropped = static_cast<bool>(cached());
  cached() = nullptr;
  return dropped;
}

TEST(MemoryPressure, CachesAreAskedBeforeTheRequestIsRefused) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  memory.set_relief(drop_cache);
  cached() = memory.allocate(3 * mebibyte, StreamId::none, {});
  EXPECT_EQ(relief_calls, 0);
  EXPECT_NO_THROW(memory.allocate(2 * mebibyte, StreamId::none, {}));
  EXPECT_EQ(relief_calls, 1);
}

TEST(MemoryPressure, CachesAreNotDroppedForARequestThatCannotFitAnyway) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  memory.set_relief(drop_cache);
  cached() = memory.allocate(mebibyte, StreamId::none, {});
  EXPECT_THROW(memory.allocate(5 * mebibyte, StreamId::none, {}), OutOfMemory);
  EXPECT_TRUE(cached());
  cached() = nullptr;
}

TEST(MemoryPressure, PiecesAreUnmappedAndMappedAgainSideBySide) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 8 * mebibyte});
  std::vector<Ref<Buffer>> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(memory.allocate(mebibyte, StreamId::none, {}));
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = nullptr;
  ASSERT_EQ(memory.info().largest_free_block, mebibyte);
  const Ref<Buffer> whole = memory.allocate(4 * mebibyte, StreamId::none, {});
  std::memset(whole->address(), 1, whole->bytes());
  EXPECT_EQ(device.space.mapped(), 8 * mebibyte);
  EXPECT_TRUE(device.space.faults.empty());
}

TEST(MemoryPressure, AFreeEndIsExtendedInsteadOfMappingTheWholeRequest) {
  HandDevice device;
  DeviceMemory memory(device, {.limit = 4 * mebibyte});
  const Ref<Buffer> kept = memory.allocate(mebibyte, StreamId::none, {});  // maps 2 MiB
  ASSERT_EQ(device.space.mapped(), 2 * mebibyte);
  const Ref<Buffer> rest = memory.allocate(3 * mebibyte, StreamId::none, {});
  EXPECT_EQ(device.space.unmap_calls, 0U);
  EXPECT_EQ(device.space.mapped(), 4 * mebibyte);
}

}  // namespace
}  // namespace tutti
