// Edges between streams, derived from what buffers say about their uses; redundant ones are left out.
#pragma once

#include "tutti/hal/device_stream.h"
#include "tutti/memory/buffer.h"

namespace tutti {

// Reduces what the next work on `stream` must come after to the edges that add something, and notes them as known.
// Call with the stream's order lock held.
void derive_edges(DeviceStream& stream, Points& after, Site site);

// For tests of the tests: asked for every derived edge; false leaves the edge out. Null: every edge is made.
using EdgeFilter = bool (*)(TimelinePoint producer, TimelinePoint consumer) noexcept;
void set_edge_filter(EdgeFilter filter) noexcept;

}  // namespace tutti
