// Who may use freed memory, and when: at once on its own stream, elsewhere after its uses or with them on record.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "memory/hand_device.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/memory/block.h"
#include "tutti/memory/device_memory.h"

namespace tutti {
namespace {

bool contains(const Points& points, TimelinePoint point) {
  return std::find(points.begin(), points.end(), point) != points.end();
}

class StreamOrder : public ::testing::Test {
 protected:
  // A buffer of 4 KiB that work on `writer` writes, let go at once. Returns where it was.
  std::byte* use_and_drop(HandStream& writer, std::size_t bytes = 4096) {
    Ref<Buffer> buffer = memory.allocate(bytes, writer.id(), {});
    buffer->note_write(writer.next(), "test");
    return buffer->address();
  }

  HandDevice device;
  HandStream first{device, {}};
  HandStream second{device, {}};
  DeviceMemory memory{device, {}};
};

TEST_F(StreamOrder, TheSameStreamReusesAtOnceWhileWorkIsInFlight) {
  std::byte* const address = use_and_drop(first);
  const Ref<Buffer> again = memory.allocate(4096, first.id(), {});
  EXPECT_EQ(again->address(), address);
  Points after;
  again->before_write(first.id(), after);
  EXPECT_TRUE(after.empty());
}

TEST_F(StreamOrder, AnotherStreamDoesNotGetMemoryInUseWhileThereIsOther) {
  std::byte* const address = use_and_drop(first);
  EXPECT_NE(memory.allocate(4096, second.id(), {})->address(), address);
}

TEST_F(StreamOrder, AnotherStreamReusesWhenTheUsesAreDone) {
  std::byte* const address = use_and_drop(first);
  first.finish(first.last());
  const Ref<Buffer> again = memory.allocate(4096, second.id(), {});
  EXPECT_EQ(again->address(), address);
  EXPECT_EQ(again->written(), TimelinePoint{});
}

TEST_F(StreamOrder, MemoryThatIsDoneWhenLetGoServesAnyone) {
  Ref<Buffer> buffer = memory.allocate(4096, first.id(), {});
  std::byte* const address = buffer->address();
  buffer->note_write(first.next(), "test");
  first.finish(first.last());
  buffer = nullptr;
  EXPECT_EQ(memory.allocate(4096, StreamId::none, {})->address(), address);
}

TEST_F(StreamOrder, TheHostNeverGetsMemoryInUse) {
  std::byte* const address = use_and_drop(first);
  EXPECT_NE(memory.allocate(4096, StreamId::none, {})->address(), address);
}

TEST_F(StreamOrder, ReadersOnOtherStreamsStayOnRecordForTheNextWriter) {
  Ref<Buffer> buffer = memory.allocate(4096, first.id(), {});
  std::byte* const address = buffer->address();
  buffer->note_write(first.next(), "test");
  const TimelinePoint read = second.next();
  buffer->note_read(read);
  buffer = nullptr;
  const Ref<Buffer> again = memory.allocate(4096, first.id(), {});
  ASSERT_EQ(again->address(), address);
  Points after;
  again->before_write(first.id(), after);
  EXPECT_EQ(after.size(), 1U);
  EXPECT_TRUE(contains(after, read));
}

TEST_F(StreamOrder, AReaderElsewhereKeepsMemoryBusyAfterItsWriterIsDone) {
  Ref<Buffer> buffer = memory.allocate(4096, first.id(), {});
  std::byte* const address = buffer->address();
  buffer->note_write(first.next(), "test");
  buffer->note_read(second.next());
  first.finish(first.last());
  buffer = nullptr;
  EXPECT_NE(memory.allocate(4096, StreamId::none, {})->address(), address);
  second.finish(second.last());
  EXPECT_EQ(memory.allocate(4096, StreamId::none, {})->address(), address);
}

TEST_F(StreamOrder, UnderALimitAnotherStreamGetsMemoryInUseWithItsUsesOnRecord) {
  memory.set_limit(64 * kibibyte, {});
  std::byte* const address = use_and_drop(first, 64 * kibibyte);
  const Ref<Buffer> again = memory.allocate(64 * kibibyte, second.id(), {});
  EXPECT_EQ(again->address(), address);
  Points after;
  again->before_write(second.id(), after);
  EXPECT_TRUE(contains(after, first.last()));
  EXPECT_EQ(first.blocked, 0U) << "the host must not wait for what the device can order";
}

TEST_F(StreamOrder, ARestCutFromMemoryInUseInheritsItsUses) {
  memory.set_limit(64 * kibibyte, {});
  std::byte* const address = use_and_drop(first, 64 * kibibyte);
  const Ref<Buffer> front = memory.allocate(16 * kibibyte, second.id(), {});
  const Ref<Buffer> back = memory.allocate(48 * kibibyte, second.id(), {});
  EXPECT_EQ(front->address(), address);
  EXPECT_EQ(back->address(), address + 16 * kibibyte);
  for (const Ref<Buffer>& part : {front, back}) {
    Points after;
    part->before_write(second.id(), after);
    EXPECT_TRUE(contains(after, first.last()));
  }
}

TEST_F(StreamOrder, PendingMemoryOfTheOwnStreamIsPreferredUnderALimit) {
  memory.set_limit(128 * kibibyte, {});
  Ref<Buffer> mine = memory.allocate(64 * kibibyte, first.id(), {});
  Ref<Buffer> other = memory.allocate(64 * kibibyte, second.id(), {});
  std::byte* const address = mine->address();
  mine->note_write(first.next(), "test");
  other->note_write(second.next(), "test");
  mine = nullptr;
  other = nullptr;
  EXPECT_EQ(memory.allocate(60 * kibibyte, first.id(), {})->address(), address);
}

TEST_F(StreamOrder, FinishedMemoryIsFoundAgainThoughOlderMemoryIsStillInUse) {
  use_and_drop(first);
  std::byte* const address = use_and_drop(second);
  second.finish(second.last());
  EXPECT_EQ(memory.allocate(4096, StreamId::none, {})->address(), address);
}

TEST_F(StreamOrder, LargeBlocksFollowTheSameRules) {
  std::byte* const address = use_and_drop(first, 5 * mebibyte + 1000);
  EXPECT_NE(memory.allocate(5 * mebibyte, second.id(), {})->address(), address);
  EXPECT_EQ(memory.allocate(5 * mebibyte + 1000, first.id(), {})->address(), address);
}

TEST_F(StreamOrder, AnOldFailureDoesNotStickToMemoryNobodyUses) {
  Ref<Buffer> buffer = memory.allocate(4096, first.id(), {});
  std::byte* const address = buffer->address();
  buffer->failure().set(std::make_shared<const Failure>());
  buffer = nullptr;
  buffer = memory.allocate(4096, first.id(), {});
  ASSERT_EQ(buffer->address(), address);
  EXPECT_FALSE(buffer->failure().is_set());
}

// A million ops that each make and drop a buffer use the memory of a few.
TEST_F(StreamOrder, ALoopThatRunsAheadOfItsStreamUsesBoundedMemory) {
  for (int i = 0; i < 100'000; ++i) use_and_drop(first, 256 * kibibyte);
  EXPECT_LE(device.space.mapped(), 2 * mebibyte);
}

// The uses of every 256 bytes, kept by the test itself: whoever gets them next must be ordered after each one that is
// not done, by its stream or by an edge.
class Uses {
 public:
  explicit Uses(const CountedSpace& space) : base_(space.base()), units_(space.range() / 256) {}

  void expect_ordered(const Buffer& buffer, StreamId stream) const {
    Points after;
    buffer.before_write(stream, after);
    for (const TimelinePoint& use : of(buffer)) {
      if (is_done(use) || (stream != StreamId::none && use.stream == stream)) continue;
      const auto covers = [&](TimelinePoint p) { return p.stream == use.stream && p.value >= use.value; };
      const bool has_edge = std::any_of(after.begin(), after.end(), covers);
      EXPECT_TRUE(stream != StreamId::none && has_edge)
          << "stream " << index_of(stream) << " is not after " << use.value << " of stream " << index_of(use.stream);
    }
  }
  void write(const Buffer& buffer, TimelinePoint point) {
    for_each_unit(buffer, [&](std::size_t i) { units_[i] = {point}; });
  }
  void read(const Buffer& buffer, TimelinePoint point) {
    for_each_unit(buffer, [&](std::size_t i) { units_[i].push_back(point); });
  }

 private:
  template <class Visit>
  void for_each_unit(const Buffer& buffer, Visit&& visit) const {
    const auto first = static_cast<std::size_t>(buffer.address() - base_) / 256;
    const std::uint64_t units = static_cast<const Block&>(buffer).units;  // a use counts for all that was handed out
    for (std::size_t i = 0; i < units; ++i) visit(first + i);
  }
  [[nodiscard]] std::vector<TimelinePoint> of(const Buffer& buffer) const {
    std::vector<TimelinePoint> out;
    for_each_unit(buffer, [&](std::size_t i) {
      for (const TimelinePoint& use : units_[i]) {
        if (std::find(out.begin(), out.end(), use) == out.end()) out.push_back(use);
      }
    });
    return out;
  }

  std::byte* base_;
  std::vector<std::vector<TimelinePoint>> units_;
};

TEST(StreamOrderOverRandomSequences, EveryNewUseIsOrderedAfterEveryUnfinishedOne) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    std::mt19937_64 random(seed);
    HandDevice device(mebibyte, 4 * kibibyte);
    std::vector<std::unique_ptr<HandStream>> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(std::make_unique<HandStream>(device, StreamOptions{}));
    DeviceMemory memory(device, {.limit = (1 + random() % 8) * 128 * kibibyte});
    Uses uses(device.space);
    std::vector<Ref<Buffer>> held;
    for (int step = 0; step < 1500 && !::testing::Test::HasFailure(); ++step) {
      HandStream& stream = *streams[random() % streams.size()];
      const auto choice = random() % 100;
      if (choice < 40) {
        const bool by_host = random() % 8 == 0;
        const StreamId id = by_host ? StreamId::none : stream.id();
        try {
          held.push_back(memory.allocate(random() % (std::size_t{1} << (random() % 18)), id, {}));
        } catch (const OutOfMemory&) {
          held.clear();
          continue;
        }
        uses.expect_ordered(*held.back(), id);
        if (by_host) {
          uses.write(*held.back(), {});
        } else if (random() % 8 != 0) {
          held.back()->note_write(stream.next(), "test");
          uses.write(*held.back(), stream.last());
        }
      } else if (choice < 60 && !held.empty()) {
        const Ref<Buffer>& buffer = held[random() % held.size()];
        buffer->note_read(stream.next());
        uses.read(*buffer, stream.last());
      } else if (choice < 90 && !held.empty()) {
        std::swap(held[random() % held.size()], held.back());
        held.pop_back();
      } else if (choice < 98) {
        stream.finish({stream.id(), stream.last().value - std::min<std::uint64_t>(stream.last().value, random() % 20)});
      } else {
        memory.trim({});
      }
    }
    EXPECT_TRUE(device.space.faults.empty());
  }
}

}  // namespace
}  // namespace tutti
