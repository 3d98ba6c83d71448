#include "tutti/hal/known_order.h"

#include <algorithm>

#include "tutti/hal/timeline.h"

namespace tutti {

namespace {
// Older steps are forgotten: the cost is an edge that was not needed, never one that is missing.
constexpr std::size_t most_steps = 64;
}  // namespace

bool KnownOrder::covers(TimelinePoint point) const {
  const std::lock_guard lock(mutex_);
  if (steps_.empty()) return false;
  const auto& known = steps_.back().known;
  return std::any_of(known.begin(), known.end(),
                     [&](const TimelinePoint& p) { return p.stream == point.stream && p.value >= point.value; });
}

void KnownOrder::merge(std::vector<TimelinePoint>& into, TimelinePoint point) const {
  if (is_done(point)) return;
  const auto same = std::find_if(into.begin(), into.end(), [&](const TimelinePoint& p) { return p.stream == point.stream; });
  if (same == into.end()) {
    into.push_back(point);
  } else {
    same->value = std::max(same->value, point.value);
  }
}

void KnownOrder::learn(TimelinePoint point, const std::vector<TimelinePoint>& inherited, std::uint64_t at) {
  const std::lock_guard lock(mutex_);
  std::vector<TimelinePoint> next;
  if (!steps_.empty()) {
    for (const TimelinePoint& p : steps_.back().known) merge(next, p);
  }
  for (const TimelinePoint& p : inherited) merge(next, p);
  merge(next, point);
  if (!steps_.empty() && steps_.back().from == at) {
    steps_.back().known = std::move(next);
  } else {
    steps_.push_back({at, std::move(next)});
  }
  while (steps_.size() > most_steps) steps_.pop_front();
}

std::vector<TimelinePoint> KnownOrder::known_at(std::uint64_t at) const {
  const std::lock_guard lock(mutex_);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->from <= at) return step->known;
  }
  return {};
}

}  // namespace tutti
