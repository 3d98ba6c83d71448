// Streams whose work runs elsewhere: whoever asks looks for himself, and whoever is to be told has someone look for him.
#include <gtest/gtest.h>

#include <vector>

#include "memory/hand_device.h"
#include "tutti/hal/timeline.h"

namespace tutti {
namespace {

// The device has shown `shown`; the timeline hears of it when someone looks.
class RemoteStream final : public DeviceStream {
 public:
  explicit RemoteStream(Device& device) : DeviceStream(device, {}) { own_timeline().set_remote(); }
  ~RemoteStream() override { own_timeline().advance(own_timeline().submitted()); }

  [[nodiscard]] TimelinePoint full_until(std::uint64_t) const override { return {}; }
  TimelinePoint submit(const Work&, std::span<const TimelinePoint>) override {
    own_timeline().set_submitted(own_timeline().submitted() + 1);
    return last();
  }
  void kick() override {}
  bool block_until(std::uint64_t, Deadline) override { return false; }
  void look() noexcept override {
    ++looks;
    if (shown > own_timeline().completed()) own_timeline().advance(shown);
  }
  void expect(std::uint64_t value) noexcept override { expected.push_back(value); }
  void watch_until(std::uint64_t value) override { watched.push_back(value); }
  void cancel() override {}
  [[nodiscard]] std::vector<PendingWork> pending() const override { return {}; }

  std::uint64_t shown = 0;
  int looks = 0;
  std::vector<std::uint64_t> expected;
  std::vector<std::uint64_t> watched;
};

TEST(RemoteStream, IsLookedAtByWhoeverAsks) {
  HandDevice device;
  RemoteStream stream(device);
  const std::uint64_t base = stream.last().value;
  stream.shown = base;
  const TimelinePoint first = stream.submit({}, {});
  const TimelinePoint second = stream.submit({}, {});
  EXPECT_FALSE(is_done(first));
  EXPECT_TRUE(stream.expected.empty()) << "a passing question asks nothing of the device";
  stream.shown = first.value;
  EXPECT_TRUE(is_done(first));
  EXPECT_FALSE(is_done(second));
  const int looks = stream.looks;
  EXPECT_TRUE(is_done(first));
  EXPECT_EQ(stream.looks, looks) << "what is known is not looked for again";
}

TEST(RemoteStream, IsAskedToShowWhatSomeoneWantsToKnow) {
  HandDevice device;
  RemoteStream stream(device);
  const TimelinePoint point = stream.submit({}, {});
  EXPECT_FALSE(ask_done(point));
  EXPECT_EQ(stream.expected, std::vector<std::uint64_t>{point.value});
  stream.shown = point.value;
  EXPECT_TRUE(ask_done(point));
}

TEST(RemoteStream, IsWatchedForThoseWhoAreToBeTold) {
  HandDevice device;
  RemoteStream stream(device);
  const TimelinePoint point = stream.submit({}, {});
  int told = 0;
  const auto count = [](void* argument) noexcept { ++*static_cast<int*>(argument); };
  EXPECT_TRUE(timeline(point.stream).when_reached(point.value, count, &told));
  EXPECT_EQ(stream.watched, std::vector<std::uint64_t>{point.value});
  EXPECT_EQ(told, 0);
  stream.shown = point.value;
  stream.look();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(timeline(point.stream).when_reached(point.value, count, &told)) << "reached already";
  EXPECT_EQ(stream.watched.size(), 1U);
}

}  // namespace
}  // namespace tutti
