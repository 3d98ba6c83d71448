// The journal itself: what is kept, what is counted, and that it can be read while it is written.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tutti/journal/journal.h"

namespace tutti::journal {
namespace {

void record_many(std::size_t count, const char* name) {
  for (std::size_t i = 0; i < count; ++i) record({.kind = EventKind::place, .name = name, .value = i});
}

std::size_t events_in(const Recording& recording) {
  std::size_t out = 0;
  for (const ThreadEvents& thread : recording.threads) out += thread.events.size();
  return out;
}

TEST(Recording, KeepsNothingUntilItIsSwitchedOn) {
  record_many(3, "before");
  EXPECT_FALSE(is_recording());
  EXPECT_EQ(events_in(snapshot()), 0U);
}

TEST(Recording, KeepsWhatHappensBetweenStartAndStop) {
  start();
  record({.kind = EventKind::alloc, .name = "alloc", .detail = "CPU:0", .begin = 5, .end = 7, .value = 64});
  stop();
  record_many(3, "after");
  const Recording recording = snapshot();
  ASSERT_EQ(events_in(recording), 1U);
  const Event& event = recording.threads.front().events.front();
  EXPECT_EQ(event.kind, EventKind::alloc);
  EXPECT_STREQ(event.name, "alloc");
  EXPECT_STREQ(event.detail, "CPU:0");
  EXPECT_EQ(event.begin, 5);
  EXPECT_EQ(event.end, 7);
  EXPECT_EQ(event.value, 64U);
}

TEST(Recording, StartsAfreshEachTimeItIsSwitchedOn) {
  start();
  record_many(3, "first");
  start();
  record_many(1, "second");
  stop();
  const Recording recording = snapshot();
  ASSERT_EQ(events_in(recording), 1U);
  EXPECT_STREQ(recording.threads.front().events.front().name, "second");
}

TEST(Recording, GivesEachThreadItsOwnNamedListWhichOutlivesIt) {
  start();
  record_many(2, "here");
  std::thread([] {
    name_this_thread("worker");
    record_many(3, "there");
  }).join();
  stop();
  const Recording recording = snapshot();
  ASSERT_EQ(recording.threads.size(), 2U);
  EXPECT_EQ(recording.threads[0].events.size(), 2U);
  EXPECT_EQ(recording.threads[1].events.size(), 3U);
  EXPECT_EQ(recording.threads[1].name, "worker");
  EXPECT_NE(recording.threads[0].thread, recording.threads[1].thread);
}

TEST(Recording, IsBoundedPerThreadAndCountsWhatDoesNotFit) {
  constexpr std::size_t bound = std::size_t{1} << 20U;
  start();
  record_many(bound + 5, "many");
  std::thread([] { record_many(2, "few"); }).join();
  stop();
  const Recording recording = snapshot();
  ASSERT_EQ(recording.threads.size(), 2U);
  EXPECT_EQ(recording.threads[0].events.size(), bound);
  EXPECT_EQ(recording.threads[0].events.back().value, bound - 1) << "the oldest are kept";
  EXPECT_EQ(recording.threads[0].dropped, 5U);
  EXPECT_EQ(recording.threads[1].events.size(), 2U);
  EXPECT_EQ(recording.threads[1].dropped, 0U);
}

TEST(Recording, RemembersTheLastNameOfAStream) {
  name_stream(StreamId{3}, "CPU:0 stream 0");
  name_stream(StreamId{3}, "CPU:0 stream 1");
  const Recording recording = snapshot();
  ASSERT_EQ(recording.streams.size(), 1U);
  EXPECT_EQ(recording.streams.front().stream, StreamId{3});
  EXPECT_EQ(recording.streams.front().name, "CPU:0 stream 1");
}

TEST(Recording, CanBeReadWhileTwoThreadsWriteIt) {
  constexpr std::size_t each = 20'000;
  start();
  std::atomic<int> writing = 2;
  const auto write = [&] {
    record_many(each, "busy");
    --writing;
  };
  std::thread first(write);
  std::thread second(write);
  std::size_t last = 0;
  while (writing > 0) {
    const Recording recording = snapshot();
    const std::size_t seen = events_in(recording);
    EXPECT_GE(seen, last) << "an event was there and is gone";
    last = seen;
    for (const ThreadEvents& thread : recording.threads) {
      for (std::size_t i = 0; i < thread.events.size(); ++i) ASSERT_EQ(thread.events[i].value, i);
    }
  }
  first.join();
  second.join();
  stop();
  EXPECT_EQ(events_in(snapshot()), 2 * each);
}

}  // namespace
}  // namespace tutti::journal
