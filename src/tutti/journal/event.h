// One thing that happened: the typed record every exporter reads.
#pragma once

#include <cstdint>

#include "tutti/base/clock.h"
#include "tutti/base/ids.h"
#include "tutti/base/site.h"

namespace tutti::journal {

enum class EventKind : std::uint8_t {
  enqueue,  // the host handed work to a stream
  run,      // a stream ran it
  wait,     // a stream was ordered after a point of another stream
  sync,     // the host went through the door
  alloc,
  free,
  copy,       // an implicit copy between devices
  place,      // an op was placed
  throttle,   // bounded run-ahead made the host wait
  scope,      // a named scope of the program, from its begin to its end
  roll_call,  // a collective waited until the processes of its group were there and agreed
  exchange,   // and then they exchanged their parts
};

struct Event {
  EventKind kind;
  StreamId stream = StreamId::none;  // none: the event belongs to the host thread's lane
  const char* name = "";             // a string that lives forever
  const char* detail = "";           // likewise: the op a sync wants a value of, the device of a placement, a collective's group
  Site site = {};
  Nanoseconds begin = 0;
  Nanoseconds end = 0;               // equal to begin for an instant
  std::uint64_t value = 0;           // the point's value, bytes, or for a wait the id of the stream waited for
  StreamId target = StreamId::none;  // the stream an enqueue went to, or whose point a sync waited for
};

}  // namespace tutti::journal
