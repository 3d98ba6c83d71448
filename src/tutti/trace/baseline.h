// The waits that a program may have: those of a report that was kept.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

struct Baseline {
  std::map<std::string, double> waits;  // a step, by what a wait is known by across changes
  bool has_totals = false;              // its run had no steps: waits are those of all of it
};

// Of a report.json; `path` is its name in messages. Throws InvalidArgument where it is none.
Baseline read_baseline(std::string_view json, const std::string& path);

// The places that wait more often than there, a sentence each.
std::vector<std::string> waits_beyond(const Baseline& allowed, const TraceReport& found);

// Waits a step, in tenths: the first and the last step may be cut.
inline constexpr double half_a_tenth = 0.05;
double in_tenths(double waits);

}  // namespace tutti::tracing
