// What comes before what: a vector clock per stream, and one for the host.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tutti/hal/point.h"

namespace tutti {

// The program's threads are one host here: how they order each other (locks, joins) is not seen, and what one of them has
// synced, any of them may rely on. So what the host knows to be done comes before everything submitted from then on, and a
// stream's clock holds only what the host does not know.
class HappensBefore {
 public:
  // Does work submitted to `stream` now come after `earlier`?
  [[nodiscard]] bool is_ordered(TimelinePoint earlier, StreamId stream) const noexcept;
  [[nodiscard]] bool is_known_to_host(TimelinePoint point) const noexcept;
  // The work that gets `consumer`, and what follows it there, comes after `producer` and all that came before that.
  void order(TimelinePoint consumer, TimelinePoint producer);
  void host_learns(TimelinePoint point);

  // The highest value of `producer` that work submitted to `stream` now comes after because the stream waits; 0: none.
  [[nodiscard]] std::uint64_t known_until(StreamId producer, StreamId stream) const noexcept;
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

 private:
  using Clock = std::vector<TimelinePoint>;  // one point per stream, without those the host knows
  struct Step {
    std::uint64_t from;  // the value from which on the clock holds
    Clock clock;
  };
  struct StreamClock {
    std::uint64_t host = 0;          // done, as far as the host knows
    std::uint64_t merged_until = 0;  // earlier steps were forgotten
    std::deque<Step> steps;          // ascending; the last is what holds now
  };

  StreamClock& of(StreamId stream);
  [[nodiscard]] const Clock* clock_at(TimelinePoint point) const noexcept;
  void raise(Clock& clock, TimelinePoint point) const;
  void bound(StreamClock& clock) noexcept;

  std::vector<StreamClock> streams_;
  std::size_t kept_points_ = 0;
  std::uint64_t forgotten_ = 0;
};

}  // namespace tutti
