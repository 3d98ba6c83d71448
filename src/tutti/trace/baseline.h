// The waits that a program may have: those of a report that was kept.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

// Waits a step, by what a wait is known by across changes.
using Baseline = std::map<std::string, double>;

// Of a report.json; `path` is its name in messages. Throws InvalidArgument where it is none.
Baseline read_baseline(std::string_view json, const std::string& path);

// The places that wait more often than there, a sentence each.
std::vector<std::string> waits_beyond(const Baseline& allowed, const TraceReport& found);

// Waits a step, in tenths: the first and the last step may be cut.
inline constexpr double half_a_tenth = 0.05;
double in_tenths(double waits);

}  // namespace tutti::tracing
