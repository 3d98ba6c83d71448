#include "tutti/exec/order.h"

#include <algorithm>
#include <atomic>

#include "tutti/journal/journal.h"

namespace tutti {

namespace {

std::atomic<EdgeFilter> edge_filter{nullptr};

bool comes_after(TimelinePoint later, TimelinePoint point) {
  DeviceStream* producer = timeline(later.stream).stream();
  return producer != nullptr && producer->known().covered_at(later.value, point);
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
  const TimelinePoint consumer{stream.id(), stream.last().value + 1};
  const EdgeFilter filter = edge_filter.load(std::memory_order_acquire);
  const Points all = after;
  std::size_t kept = 0;
  for (const TimelinePoint point : all) {
    // Another of the points comes after this one anyway: waiting for that is enough.
    const bool is_implied = std::any_of(all.begin(), all.end(), [&](const TimelinePoint& other) {
      return other.stream != point.stream && comes_after(other, point);
    });
    stream.known().learn(point, known_at(point), consumer.value);
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
