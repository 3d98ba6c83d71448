// What a stream already knows to be ordered before its next work, so that an edge is never made twice.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "tutti/hal/point.h"

namespace tutti {

// A clock per stream: for each other stream the highest value this one is ordered after, directly or through others.
// A wait also brings what the producer itself knew at that point.
class KnownOrder {
 public:
  // Is work submitted now ordered after `point` already?
  [[nodiscard]] bool covers(TimelinePoint point) const;
  // The work that will get value `at` on this stream waits for `point`, whose producer knew `inherited`.
  void learn(TimelinePoint point, const std::vector<TimelinePoint>& inherited, std::uint64_t at);
  // What this stream knew at its own value `at`.
  [[nodiscard]] std::vector<TimelinePoint> known_at(std::uint64_t at) const;

 private:
  struct Step {
    std::uint64_t from;  // the value from which on `known` holds
    std::vector<TimelinePoint> known;
  };
  void merge(std::vector<TimelinePoint>& into, TimelinePoint point) const;

  mutable std::mutex mutex_;  // a leaf: nothing is locked under it
  std::deque<Step> steps_;    // ascending; points that are done are dropped as it goes
};

}  // namespace tutti
