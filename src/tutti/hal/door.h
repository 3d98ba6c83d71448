// The one door: the only two ways for the host to block, and the exact account of every time it did.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"
#include "tutti/hal/point.h"
#include "tutti/hal/sync_reason.h"

namespace tutti {

enum class WaitResult : std::uint8_t { done, timed_out };

namespace detail {
struct SiteAccount;
// How many entries of the door the calling thread is inside of, for tests that see what blocks it: 0 means it must not.
int door_depth() noexcept;
}  // namespace detail

// Blocks until the point is done or the deadline has passed. A point that is done costs a load and a count.
// Throws InvalidState from inside a kernel, where waiting for a stream could wait for itself.
WaitResult await(TimelinePoint point, SyncReason reason, Deadline deadline, Site site);
// The same for several points: one passage, one price.
WaitResult await_all(std::span<const TimelinePoint> points, SyncReason reason, Deadline deadline, Site site);

// Around a call that blocks and has no point: mapping memory, loading a module, a barrier.
class BlockingRegion {
 public:
  BlockingRegion(SyncReason reason, Site site);
  ~BlockingRegion();
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

 private:
  detail::SiteAccount* account_;
  SyncReason reason_;
  Site site_;
  Nanoseconds begin_;
};

// What one site has cost so far. `calls` counts every passage, ready or not; `blocked` those that had to wait.
struct SyncTotals {
  Site site;
  SyncReason reason = SyncReason::value_read;
  std::uint64_t calls = 0;
  std::uint64_t blocked = 0;
  std::uint64_t timed_out = 0;
  Nanoseconds blocked_time = 0;
  Nanoseconds longest = 0;
};

// Exact, since the start or the last reset; one entry per site and reason, most expensive first.
std::vector<SyncTotals> sync_totals();
void reset_sync_totals() noexcept;

// Sum over every site: the demand syncs of the program, and those among them that blocked.
struct SyncCounts {
  std::uint64_t demand = 0;
  std::uint64_t demand_blocked = 0;
  std::uint64_t flow = 0;
  Nanoseconds blocked_time = 0;
};
SyncCounts sync_counts();

}  // namespace tutti
