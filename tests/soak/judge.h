// Whether what the ranks of a round were told is true, by what was done to them.
#pragma once

#include <string>
#include <vector>

#include "soak/faults.h"
#include "soak/plan.h"
#include "soak/record.h"

namespace tutti::soak {

// A process of a rank that has ended.
struct Exit {
  int rank = 0;
  Instant at;
  int status = 0;  // -signal where one ended it
};

// In which the driver itself was not run: neither was who had to answer, perhaps.
struct Starvation {
  Instant begin;
  Instant end;
};

struct Evidence {
  const Plan& plan;
  const std::vector<Entry>& entries;  // of all ranks, those of one in order
  const std::vector<Fault>& faults;
  const std::vector<Exit>& exits;
  const std::vector<Starvation>& starvations;
  Instant begin;
};

// What is wrong, a line each.
std::vector<std::string> judged(const Evidence& evidence);

}  // namespace tutti::soak
