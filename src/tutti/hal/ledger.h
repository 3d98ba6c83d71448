// The ledger: what every place that made the host wait has cost so far, exactly, in memory that does not grow with time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/ids.h"
#include "tutti/base/site.h"
#include "tutti/hal/sync_reason.h"

namespace tutti {

// What one site has cost so far, for one reason. `calls` counts every passage, ready or not; `blocked` those that had to wait.
struct SyncTotals {
  Site site;
  SyncReason reason = SyncReason::value_read;
  std::uint64_t calls = 0;
  std::uint64_t blocked = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t refused = 0;  // thrown by a mode or a budget; not in calls
  std::uint64_t waiting = 0;  // of the calls, those that have not ended yet and are not in blocked
  Nanoseconds blocked_time = 0;
  Nanoseconds longest = 0;
  // The device that was waited for had nothing to do: from the end of a wait that left all its streams empty until work came.
  Nanoseconds device_idle = 0;
  std::uint64_t bytes = 0;          // of the values that were read
  std::uint64_t deepest_queue = 0;  // work in flight on the streams waited for, when the host came

  // Of the last passage; `several_*`: others had another one.
  const char* op = "";        // that made the value wanted; empty: none was, or it is not known
  const char* function = "";  // what the program called for it
  std::string device;         // full name; empty: none
  StreamId stream = StreamId::none;
  std::uint64_t thread = 0;  // the kernel's thread id
  bool several_ops = false;
  bool several_streams = false;
  bool several_threads = false;

  std::uint64_t allowed = 0;    // of the calls, those under an AllowSync
  std::string allowed_because;  // the reason it gave last, its first 120 characters
  // Return addresses of the passage that blocked longest, innermost first; empty unless stacks are kept. Where it has
  // `most_stack_frames`, the callers beyond are not known.
  std::vector<const void*> stack;

  // Evidence for the class of the site: how many of the calls ...
  std::uint64_t nothing_queued = 0;  // ... asked for streams that never had work, or for a value the host had made itself
  std::uint64_t already_synced = 0;  // ... asked for points the host had synced before, last at `synced_before_at`
  std::uint64_t in_a_row = 0;  // ... read a value that was enqueued before the thread's previous read, at `previous_read_at`
  std::uint64_t sent_for = 0;  // ... got a value that read_async() had sent for; refused ones count too
  std::array<std::uint64_t, intents> stated{};  // ... had this intent
  Site synced_before_at;
  Site previous_read_at;
};

// Since the start or the last reset; one entry per site and reason, most expensive first.
std::vector<SyncTotals> sync_totals();
void reset_sync_totals() noexcept;

// From now on every site keeps the native stack of its longest wait; off unless TUTTI_SYNC_STACKS=1.
void set_sync_stacks(bool on) noexcept;
inline constexpr std::size_t most_stack_frames = 48;

// Sum over every site: the demand syncs of the program, and those among them that blocked.
struct SyncCounts {
  std::uint64_t demand = 0;
  std::uint64_t demand_blocked = 0;
  std::uint64_t flow = 0;
  Nanoseconds blocked_time = 0;
};
SyncCounts sync_counts();

}  // namespace tutti
