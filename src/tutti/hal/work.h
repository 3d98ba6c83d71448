// What a stream runs: a kind (how to run it), a label for people, and a payload copied into the stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/base/site.h"
#include "tutti/hal/failure.h"
#include "tutti/hal/point.h"

namespace tutti {

class Parallel;
class DeviceStream;

// What work can use while it runs.
struct RunContext {
  DeviceStream& stream;
  Parallel& parallel;
  TimelinePoint point;
  const char* function;  // what the program called, for errors
  // Set by the backend when this piece of work is to fail (a fault that was injected, a lost device).
  FailureRef fault;
};

// Work lives in the caller's hands (the source) until it is packed into the stream's payload. Exactly one of run, retire and
// abandon is called, once, and is the end of the payload. None of them may throw: a failure goes into the cells of what the
// work writes, and is returned so that the stream can report it at a sync.
struct WorkKind {
  // Everything, or (`whole` is false) only what retire and abandon need, because the work is issued from the source.
  void (*pack)(const void* source, void* payload, bool whole);
  // By a thread of the host: the work is done when this returns.
  FailureRef (*run)(void* payload, RunContext& context) noexcept;
  void (*abandon)(void* payload, const FailureRef& why) noexcept;
  // On hardware that works by itself there are two steps: issue hands the work over, from the source if that is still there
  // or from a whole payload; retire follows in the order of the stream when it is done, with what issue or the hardware had
  // to complain about. Null: never given to such a stream.
  FailureRef (*issue_source)(const void* source, RunContext& context) noexcept = nullptr;
  FailureRef (*issue)(void* payload, RunContext& context) noexcept = nullptr;
  FailureRef (*retire)(void* payload, const FailureRef& own) noexcept = nullptr;
};

struct Work {
  const WorkKind* kind = nullptr;
  const char* name = "";           // for the journal and the ledger; lives for ever
  const char* function = nullptr;  // what the program called, for errors; null: the name
  Site site;
  const void* source = nullptr;     // what kind->pack takes
  std::uint64_t traffic_bytes = 0;  // counted against the stream's run-ahead in bytes
  bool is_copy = false;             // moves bytes between devices
};

}  // namespace tutti
