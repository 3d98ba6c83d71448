// A place on a stream's timeline. Order, syncs, memory reuse and errors all speak in points.
#pragma once

#include <cstdint>

#include "tutti/base/ids.h"

namespace tutti {

// Copyable and comparable. The default point belongs to no stream and is always done.
struct TimelinePoint {
  StreamId stream = StreamId::none;
  std::uint64_t value = 0;

  friend bool operator==(const TimelinePoint&, const TimelinePoint&) = default;
};
static_assert(sizeof(TimelinePoint) == 16);

}  // namespace tutti
