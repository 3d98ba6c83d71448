// Lengths of time for people.
#pragma once

#include <string>

#include "tutti/base/clock.h"

namespace tutti {

// "812 ns", "15.2 us", "1.25 ms", "3.10 s"
std::string human_time(Nanoseconds time);

}  // namespace tutti
