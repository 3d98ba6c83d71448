// The host's side of a wait on a timeline: registers, blocks, and is gone before its caller returns.
#pragma once

#include <cstdint>

#include "tutti/base/clock.h"
#include "tutti/hal/timeline.h"

namespace tutti {

// False: the deadline passed first.
bool wait_on_host(Timeline& line, std::uint64_t value, Deadline deadline);

// Has the calling thread woken a host thread since it was last asked? It may have to leave its core to it.
bool has_woken_host() noexcept;

}  // namespace tutti
