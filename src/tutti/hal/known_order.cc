#include "tutti/hal/known_order.h"

#include <algorithm>

#include "tutti/hal/device_stream.h"
#include "tutti/hal/timeline.h"

namespace tutti {

namespace {

// Older steps are forgotten: the cost is an edge that was not needed, never one that is missing.
constexpr std::size_t most_steps = 64;

bool has(const KnownOrder::Known& known, TimelinePoint point) {
  return std::any_of(known.begin(), known.end(),
                     [&](const TimelinePoint& p) { return p.stream == point.stream && p.value >= point.value; });
}

void merge(KnownOrder::Known& into, TimelinePoint point) {
  if (is_done(point)) return;
  const auto same = std::find_if(into.begin(), into.end(), [&](const TimelinePoint& p) { return p.stream == point.stream; });
  if (same == into.end()) {
    into.push_back(point);
  } else {
    same->value = std::max(same->value, point.value);
  }
}

}  // namespace

bool KnownOrder::covers(TimelinePoint point) const {
  const std::lock_guard lock(mutex_);
  return latest() != nullptr && has(latest()->known, point);
}

bool KnownOrder::covered_at(std::uint64_t at, TimelinePoint point) const {
  const std::lock_guard lock(mutex_);
  const Step* step = step_at(at);
  return step != nullptr && has(step->known, point);
}

void KnownOrder::learn(TimelinePoint point, const Known& inherited, std::uint64_t at) {
  const std::lock_guard lock(mutex_);
  Known next;
  if (latest() != nullptr) {
    for (const TimelinePoint& p : latest()->known) merge(next, p);
  }
  for (const TimelinePoint& p : inherited) merge(next, p);
  merge(next, point);
  if (latest() == nullptr || latest()->from != at) {
    latest_ = steps_.empty() ? 0 : (latest_ + 1) % most_steps;
    if (latest_ == steps_.size()) steps_.emplace_back();
  }
  steps_[latest_] = {at, next};
}

KnownOrder::Known KnownOrder::known_at(std::uint64_t at) const {
  const std::lock_guard lock(mutex_);
  const Step* step = step_at(at);
  return step != nullptr ? step->known : Known{};
}

const KnownOrder::Step* KnownOrder::step_at(std::uint64_t at) const {
  for (std::size_t back = 0; back < steps_.size(); ++back) {
    const Step& step = steps_[(latest_ + steps_.size() - back) % steps_.size()];
    if (step.from <= at) return &step;
  }
  return nullptr;
}

KnownOrder::Known known_at(TimelinePoint point) {
  DeviceStream* stream = timeline(point.stream).stream();
  return stream != nullptr ? stream->known().known_at(point.value) : KnownOrder::Known{};
}

}  // namespace tutti
