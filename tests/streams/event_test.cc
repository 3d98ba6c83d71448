// Events: places on a stream that can be asked about, waited for and measured.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "streams/gate.h"

namespace tutti {

namespace {
using testing_streams::Gate;
using testing_streams::Notes;
}  // namespace

TEST(Event, ThatWasNeverRecordedIsDone) {
  simulate_gpus(1);
  const Event event;
  EXPECT_TRUE(event.is_done());
  event.sync();
  Stream stream("GPU:0");
  stream.wait(event);
  EXPECT_TRUE(stream.is_idle());
}

TEST(Event, IsDoneWhenAllThatWasSubmittedBeforeItIs) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  const StreamScope in(stream);
  Event before;
  before.record(stream);
  Gate gate;
  gate.close("GPU:0");
  Event after;
  after.record(stream);
  EXPECT_TRUE(before.is_done());
  EXPECT_FALSE(after.is_done());
  gate.open();
  after.sync();
  EXPECT_TRUE(after.is_done());
}

TEST(Event, RecordedAgainMoves) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  const StreamScope in(stream);
  Event event;
  event.record(stream);
  const Event copy = event;
  Gate gate;
  gate.close("GPU:0");
  event.record(stream);
  EXPECT_FALSE(event.is_done());
  EXPECT_TRUE(copy.is_done()) << "a copy stays where it was";
  gate.open();
}

TEST(Event, MakesAnotherStreamWaitAcrossDevices) {
  simulate_gpus(2, {.workers = 1});
  Gate gate;
  Notes notes;
  Stream first("GPU:0");
  Stream second("GPU:1");
  Event event;
  {
    const StreamScope in(first);
    const DeviceScope on("GPU:0");
    gate.close("GPU:0");
    notes.note(1);
    event.record(first);
  }
  {
    const StreamScope in(second);
    const DeviceScope on("GPU:1");
    notes.note(0);
    second.wait(event);
    notes.note(2);
  }
  synchronize("CPU:0");
  EXPECT_FALSE(second.is_idle());
  gate.open();
  sync_devices();
  const std::vector<std::int64_t> taken = notes.taken();
  EXPECT_LT(std::find(taken.begin(), taken.end(), 1), std::find(taken.begin(), taken.end(), 2));
  EXPECT_EQ(taken.size(), 3U);
}

TEST(Event, AWaitForAStreamCoversAllItHasNowAndNothingLater) {
  simulate_gpus(1, {.workers = 2});
  Gate gate;
  Stream first("GPU:0");
  Stream second("GPU:0");
  const DeviceScope on("GPU:0");
  second.wait(first);  // nothing yet
  {
    const StreamScope in(first);
    gate.close("GPU:0");
  }
  {
    const StreamScope in(second);
    EXPECT_EQ(item<float>(ones({})), 1) << "the wait came before the gate";
    second.wait(first);
    const Tensor held = ones({});
    EXPECT_FALSE(held.is_ready());
    gate.open();
    EXPECT_EQ(item<float>(held), 1);
  }
}

TEST(Event, WaitsInACircleOfStreamsFollowTheOrderOfTheCalls) {
  simulate_gpus(2);
  Stream a("GPU:0");
  Stream b("GPU:1");
  Notes notes;
  for (std::int64_t i = 0; i < 100; ++i) {
    {
      const DeviceScope on("GPU:0");
      const StreamScope in(a);
      a.wait(b);
      notes.note(2 * i);
    }
    const DeviceScope on("GPU:1");
    const StreamScope in(b);
    b.wait(a);
    notes.note(2 * i + 1);
  }
  sync_devices();
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 200; ++i) expected.push_back(i);
  EXPECT_EQ(notes.taken(), expected);
}

TEST(Event, MeasuresTheTimeBetweenTwo) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  const StreamScope in(stream);
  const DeviceScope on("GPU:0");
  Event from({.timing = true});
  Event to({.timing = true});
  Gate gate;
  from.record(stream);
  gate.close("GPU:0");
  to.record(stream);
  EXPECT_THROW((void)Event::elapsed(from, to), InvalidState) << "not done yet";
  gate.await_entered();
  const Nanoseconds opened_at = now();
  gate.open();
  to.sync();
  EXPECT_GE(Event::elapsed(from, to).count(), 0);
  EXPECT_LE(Event::elapsed(from, to).count(), now() - opened_at + 10'000'000'000);
  EXPECT_EQ(Event::elapsed(to, from).count(), -Event::elapsed(from, to).count());
}

TEST(Event, RefusesToMeasureWithoutTiming) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  Event plain;
  plain.record(stream);
  Event timed({.timing = true});
  EXPECT_THROW((void)Event::elapsed(plain, plain), InvalidArgument);
  EXPECT_THROW((void)Event::elapsed(timed, timed), InvalidArgument) << "never recorded";
}

TEST(Event, OnACancelledStreamResolvesAndHasNoTime) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  const StreamScope in(stream);
  Gate gate;
  gate.close("GPU:0");
  gate.await_entered();
  Event event({.timing = true});
  event.record(stream);
  stream.cancel();
  gate.open();
  event.sync();
  EXPECT_THROW((void)Event::elapsed(event, event), InvalidState);
}

TEST(Event, CanBeAskedByOneThreadWhileAnotherRecordsIt) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  for (const bool timing : {false, true}) {
    Event event({.timing = timing});
    event.record(stream);
    std::atomic<bool> is_over = false;
    std::array<std::atomic<int>, 2> rounds{};
    // One that takes no lock on its way, so that nothing else orders the two; one that waits.
    std::jthread asks([&] {
      std::uint64_t last = 0;
      for (; !is_over.load(std::memory_order_relaxed); rounds[0].fetch_add(1, std::memory_order_relaxed)) {
        (void)event.is_done();
        const std::uint64_t value = event.point().value;
        EXPECT_GE(value, last) << "recording moves it on";
        last = value;
      }
    });
    std::jthread waits([&] {
      for (; !is_over.load(std::memory_order_relaxed); rounds[1].fetch_add(1, std::memory_order_relaxed)) {
        event.sync();
        const Event copy = event;
        copy.sync();
        if (timing) {
          EXPECT_EQ(Event::elapsed(copy, copy).count(), 0);
        }
      }
    });
    const StreamScope in(stream);
    const DeviceScope on("GPU:0");
    while (rounds[0].load(std::memory_order_relaxed) < 1000 || rounds[1].load(std::memory_order_relaxed) < 1000) {
      (void)ones({});
      event.record(stream);
    }
    is_over = true;
  }
}

}  // namespace tutti
