#include "tutti/diag/happens_before.h"

#include <algorithm>

namespace tutti {

namespace {

// Steps kept, in all: 16 MiB of points, and then a few per stream.
constexpr std::size_t most_points = std::size_t{1} << 20U;
constexpr std::size_t most_steps = 4096;
constexpr std::size_t fewest_steps = 8;

}  // namespace

HappensBefore::StreamClock& HappensBefore::of(StreamId stream) {
  const std::size_t i = index_of(stream);
  if (i >= streams_.size()) streams_.resize(i + 1);
  return streams_[i];
}

bool HappensBefore::is_known_to_host(TimelinePoint point) const noexcept {
  const std::size_t i = index_of(point.stream);
  return point.stream == StreamId::none || (i < streams_.size() && streams_[i].host >= point.value);
}

std::uint64_t HappensBefore::known_until(StreamId producer, StreamId stream) const noexcept {
  const std::size_t i = index_of(stream);
  if (i >= streams_.size() || streams_[i].steps.empty()) return 0;
  for (const TimelinePoint& known : streams_[i].steps.back().clock) {
    if (known.stream == producer) return known.value;
  }
  return 0;
}

bool HappensBefore::is_ordered(TimelinePoint earlier, StreamId stream) const noexcept {
  return earlier.stream == stream || is_known_to_host(earlier) || known_until(earlier.stream, stream) >= earlier.value;
}

const HappensBefore::Clock* HappensBefore::clock_at(TimelinePoint point) const noexcept {
  const std::size_t i = index_of(point.stream);
  if (i >= streams_.size() || is_known_to_host(point)) return nullptr;
  const StreamClock& clock = streams_[i];
  const auto after = std::upper_bound(clock.steps.begin(), clock.steps.end(), point.value,
                                      [](std::uint64_t value, const Step& step) { return value < step.from; });
  if (after != clock.steps.begin()) return &std::prev(after)->clock;
  // What it knew then is forgotten: at most what it knew a little later, and so no order is overlooked.
  return point.value < clock.merged_until ? &clock.steps.front().clock : nullptr;
}

void HappensBefore::raise(Clock& clock, TimelinePoint point) const {
  if (is_known_to_host(point)) return;
  const auto same = std::find_if(clock.begin(), clock.end(), [&](const TimelinePoint& p) { return p.stream == point.stream; });
  if (same == clock.end()) {
    clock.push_back(point);
  } else {
    same->value = std::max(same->value, point.value);
  }
}

void HappensBefore::order(TimelinePoint consumer, TimelinePoint producer) {
  if (is_ordered(producer, consumer.stream)) return;
  Clock next;
  StreamClock& mine = of(consumer.stream);
  if (!mine.steps.empty()) {
    for (const TimelinePoint& point : mine.steps.back().clock) raise(next, point);
  }
  if (const Clock* inherited = clock_at(producer)) {
    for (const TimelinePoint& point : *inherited) raise(next, point);
  }
  raise(next, producer);
  if (!mine.steps.empty() && mine.steps.back().from >= consumer.value) {
    kept_points_ -= mine.steps.back().clock.size();
    kept_points_ += next.size();
    mine.steps.back().clock = std::move(next);
    return;
  }
  kept_points_ += next.size();
  mine.steps.push_back({consumer.value, std::move(next)});
  bound(mine);
}

void HappensBefore::bound(StreamClock& clock) noexcept {
  const auto drop_first = [&] {
    kept_points_ -= clock.steps.front().clock.size();
    clock.steps.pop_front();
  };
  // What the host knows to be done needs no clock.
  while (clock.steps.size() > 1 && clock.steps[1].from <= clock.host + 1) drop_first();
  while (clock.steps.size() > most_steps || (kept_points_ > most_points && clock.steps.size() > fewest_steps)) {
    drop_first();
    clock.merged_until = clock.steps.front().from;
    ++forgotten_;
  }
}

void HappensBefore::host_learns(TimelinePoint point) {
  if (is_known_to_host(point)) return;
  Clock known;
  if (const Clock* clock = clock_at(point)) known = *clock;
  known.push_back(point);
  for (const TimelinePoint& each : known) {
    StreamClock& clock = of(each.stream);
    clock.host = std::max(clock.host, each.value);
  }
}

}  // namespace tutti
