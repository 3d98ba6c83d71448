// The NVTX ranges that a thread is in: what the program itself says it is doing.
#pragma once

#include <string>

namespace tutti::tracing {

// Of the calling thread, outermost first: "step 37 > forward", "loader: decode" for one of a named domain. Empty: it is in none.
std::string current_ranges();

}  // namespace tutti::tracing
