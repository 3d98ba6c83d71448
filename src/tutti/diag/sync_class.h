// What kind of wait a site of the ledger is, by evidence alone, and what to write instead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/hal/ledger.h"

namespace tutti {

enum class SyncClass : std::uint8_t {
  no_op,          // nothing was queued: nothing to wait for
  redundant,      // an earlier sync had reached the same point
  coalescible,    // a read of what was already enqueued at the thread's previous read
  deferrable,     // the value is only printed, logged or stored
  pageable,       // the host's buffer is not pinned
  dynamic_shape,  // the shape of a result depends on data
  control_flow,   // the value decides what the host does
  measurement,    // the end of something timed
  warm_up,        // something is loaded or mapped for the first time
  flow_control,   // the host is ahead of the device, or of its memory
  unknown,
};

// "no-op", "dynamic shape"; lives for ever.
const char* to_string(SyncClass kind) noexcept;

// A use that would explain a wait of class `unknown`, and what to write instead if that is it. Both texts live for ever.
struct SyncPossibility {
  const char* use;  // after "if": "it stands between ops"
  const char* fix;
};

struct SyncVerdict {
  SyncClass kind = SyncClass::unknown;
  std::string evidence;                      // a sentence: what was seen, or for `unknown` what would have to be known
  std::string fix;                           // what to write instead; empty: the wait is needed, or nobody can tell
  std::vector<SyncPossibility> may_be = {};  // of class `unknown`
};

// A class is given only where the evidence covers every call of the site.
SyncVerdict classify(const SyncTotals& site);

}  // namespace tutti
