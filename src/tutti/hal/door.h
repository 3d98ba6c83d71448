// The one door: the only two ways for the host to block. Every passage is judged by the thread's mode and entered in the ledger.
#pragma once

#include <cstdint>
#include <span>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"
#include "tutti/hal/ledger.h"
#include "tutti/hal/op_name.h"
#include "tutti/hal/point.h"
#include "tutti/hal/sync_reason.h"

namespace tutti {

enum class WaitResult : std::uint8_t { done, timed_out };

namespace detail {
struct SiteAccount;
// How many entries of the door the calling thread is inside of, for tests that see what blocks it: 0 means it must not.
int door_depth() noexcept;
}  // namespace detail

// What a passage is for.
struct SyncRequest {
  SyncReason reason;
  Site site;
  Intent intent = Intent::unstated;
  OpName op = "";           // that made the value wanted
  std::uint64_t bytes = 0;  // of that value
  TimelinePoint made = {};  // where it was made, if what is waited for is a copy of it
  bool sent_for = false;    // that copy was begun by an earlier call: read_async
};

// Blocks until the point is done or the deadline has passed. A point that is done costs a load and a count.
// Throws SyncForbidden, before it blocks, where a mode or a budget of the thread says so; InvalidState from inside a kernel,
// where waiting for a stream could wait for itself.
WaitResult await(TimelinePoint point, const SyncRequest& request, Deadline deadline = std::nullopt);
// The same for several points: one passage, one price.
WaitResult await_all(std::span<const TimelinePoint> points, const SyncRequest& request, Deadline deadline = std::nullopt);

// For waits of the runtime's own, which nobody gave a timeout: gives up when the points are not done and no stream at all has
// finished anything for as long as TUTTI_STALL_TIMEOUT says ("90s"), 5 minutes without it.
WaitResult await_unless_stalled(std::span<const TimelinePoint> points, const SyncRequest& request);
std::chrono::nanoseconds stall_timeout();

// Around a call that blocks and has no point: mapping memory, loading a module, a barrier.
class BlockingRegion {
 public:
  BlockingRegion(SyncReason reason, Site site);
  ~BlockingRegion();
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;

  // Work that has to be done as well: a part of the same passage.
  WaitResult await(std::span<const TimelinePoint> points, Deadline deadline);

 private:
  detail::SiteAccount* account_;
  Nanoseconds begin_;
  bool has_timed_out_ = false;
};

}  // namespace tutti
