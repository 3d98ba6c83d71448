// What the Python sources of a traced program say about its sites, by the linter: the rule a wait falls under, and what becomes
// of the value.
#pragma once

#include <vector>

#include "tutti/lint/seen_wait.h"
#include "tutti/trace/host_waits.h"

namespace tutti::tracing {

struct WaitSite;

lint::SeenWait seen_wait(const WaitSite& site);

// Reads the files that the sites name, if they are there and still have the line; else the line itself, which the trace keeps.
void read_sources(std::vector<WaitSite>& sites);

}  // namespace tutti::tracing
