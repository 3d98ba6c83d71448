// The program of a rank: it takes the plan's steps, looks at every value it gets, and writes down how each call ended.
#pragma once

#include "soak/plan.h"
#include "soak/record.h"

namespace tutti::soak {

// Of a rank that was told that it or the coordinator is lost.
inline constexpr int cut_off_status = 3;

// From `first` on. `log`: a descriptor, written to at its end. Restarts: one that is lost comes back at the next gathering.
int run_rank(const Plan& plan, int rank, std::int64_t first, bool restarts, Board& board, int log);

}  // namespace tutti::soak
