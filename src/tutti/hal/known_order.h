// What a stream already knows to be ordered before its next work, so that an edge is never made twice.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "tutti/base/inline_vector.h"
#include "tutti/hal/point.h"

namespace tutti {

// A clock per stream: for each other stream the highest value this one is ordered after, directly or through others.
// A wait also brings what the producer itself knew at that point.
class KnownOrder {
 public:
  using Known = InlineVector<TimelinePoint, 8>;  // one point per stream

  // Is work submitted now ordered after `point` already?
  [[nodiscard]] bool covers(TimelinePoint point) const;
  // Was this stream's work `at` ordered after `point`?
  [[nodiscard]] bool covered_at(std::uint64_t at, TimelinePoint point) const;
  // The work that will get value `at` on this stream waits for `point`, whose producer knew `inherited`.
  void learn(TimelinePoint point, const Known& inherited, std::uint64_t at);
  // What this stream knew at its own value `at`.
  [[nodiscard]] Known known_at(std::uint64_t at) const;

 private:
  struct Step {
    std::uint64_t from;  // the value from which on `known` holds
    Known known;
  };
  // The latest step that holds at `at`, or null.
  [[nodiscard]] const Step* step_at(std::uint64_t at) const;
  [[nodiscard]] const Step* latest() const { return steps_.empty() ? nullptr : &steps_[latest_]; }

  mutable std::mutex mutex_;  // a leaf: nothing is locked under it
  std::vector<Step> steps_;   // a ring once it is full: the step after the latest is the oldest
  std::size_t latest_ = 0;
};

// What the stream of a point knew there.
KnownOrder::Known known_at(TimelinePoint point);

}  // namespace tutti
