// The ledger of host syncs as a table for a terminal.
#pragma once

#include <span>
#include <string>

#include "tutti/hal/door.h"

namespace tutti::tools {

// A line per site and reason: calls, how many of them blocked, and for how long in all.
std::string sync_table(std::span<const SyncTotals> totals);

// "812 ns", "15.2 us", "1.25 ms", "3.10 s"
std::string human_time(Nanoseconds time);

}  // namespace tutti::tools
