#include "tutti/exec/order.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "tutti/journal/journal.h"

namespace tutti {

namespace {

std::atomic<EdgeFilter> edge_filter{nullptr};

std::vector<TimelinePoint> known_to_producer(TimelinePoint point) {
  DeviceStream* producer = timeline(point.stream).stream();
  return producer != nullptr ? producer->known().known_at(point.value) : std::vector<TimelinePoint>{};
}

bool covers(const std::vector<TimelinePoint>& known, TimelinePoint point) {
  return std::any_of(known.begin(), known.end(),
                     [&](const TimelinePoint& p) { return p.stream == point.stream && p.value >= point.value; });
}

// One point per stream, the latest, and none the stream is ordered after already.
void drop_repeated(DeviceStream& stream, Points& after) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const TimelinePoint point = after[i];
    if (point.stream == stream.id() || stream.known().covers(point)) continue;
    const auto same =
        std::find_if(after.begin(), after.begin() + kept, [&](const TimelinePoint& p) { return p.stream == point.stream; });
    if (same != after.begin() + kept) {
      same->value = std::max(same->value, point.value);
    } else {
      after[kept++] = point;
    }
  }
  after.resize(kept);
}

}  // namespace

void set_edge_filter(EdgeFilter filter) noexcept { edge_filter.store(filter, std::memory_order_release); }

void derive_edges(DeviceStream& stream, Points& after, Site site) {
  if (after.empty()) return;
  drop_repeated(stream, after);
  if (after.empty()) return;
  std::vector<std::vector<TimelinePoint>> knowledge;
  knowledge.reserve(after.size());
  for (const TimelinePoint& point : after) knowledge.push_back(known_to_producer(point));
  const TimelinePoint consumer{stream.id(), stream.last().value + 1};
  const EdgeFilter filter = edge_filter.load(std::memory_order_acquire);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const TimelinePoint point = after[i];
    // Another of the points comes after this one anyway: waiting for that is enough.
    bool is_implied = false;
    for (std::size_t j = 0; j < knowledge.size(); ++j) is_implied = is_implied || (j != i && covers(knowledge[j], point));
    stream.known().learn(point, knowledge[i], consumer.value);
    if (is_implied || (filter != nullptr && !filter(point, consumer))) continue;
    if (journal::is_recording()) [[unlikely]] {
      const Nanoseconds at = now();
      journal::record({.kind = journal::EventKind::wait,
                       .stream = stream.id(),
                       .name = "wait",
                       .site = site,
                       .begin = at,
                       .end = at,
                       .value = index_of(point.stream)});
    }
    after[kept++] = point;
  }
  after.resize(kept);
}

}  // namespace tutti
