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
  // Set by the backend when this piece of work is to fail (a fault that was injected, a lost device).
  FailureRef fault;
};

// Payloads are moved by copying their bytes. Exactly one of run and abandon is called, once; neither may throw: a
// failure goes into the cells of what the work writes, and is returned so that the stream can report it at a sync.
struct WorkKind {
  FailureRef (*run)(void* payload, RunContext& context) noexcept;
  void (*abandon)(void* payload, const FailureRef& why) noexcept;
};

struct Work {
  const WorkKind* kind = nullptr;
  const char* name = "";  // lives for ever
  Site site;
  const void* payload = nullptr;
  std::size_t payload_bytes = 0;    // at most DeviceStream::most_payload_bytes
  std::uint64_t traffic_bytes = 0;  // counted against the stream's run-ahead in bytes
  bool is_copy = false;             // moves bytes between devices
};

}  // namespace tutti
