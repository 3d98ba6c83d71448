// The host's side of a wait on a timeline: registers, blocks, and is gone before its caller returns.
#pragma once

#include <cstdint>

#include "tutti/base/clock.h"
#include "tutti/hal/timeline.h"

namespace tutti {

// False: the deadline passed first.
bool wait_on_host(Timeline& line, std::uint64_t value, Deadline deadline);

}  // namespace tutti
