// How a thread gets off a core that another needs, when the system would leave it there.
#pragma once

#include <optional>

namespace tutti {

// Moves the calling thread to another of the cores it may run on, and returns which; none: there is no other, or the system
// refuses. Which cores it may run on is the same afterwards; a change that someone else makes to that meanwhile is lost.
std::optional<int> leave_core(int core) noexcept;

}  // namespace tutti
