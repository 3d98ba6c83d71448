// A trace of a whole run, asked for from outside: TUTTI_TRACE=trace.json ./program
#pragma once

#include <string>

#include "tutti/base/site.h"

namespace tutti::journal {

// Records from now on and writes a Chrome trace to `path` when the process ends (base/end_of_process.h). TUTTI_TRACE makes this
// call before main() begins. A second call only changes the path. A forked child writes nothing. Processes of a job write a file
// each: trace.rank0.json, trace.rank1.json.
void trace_until_exit(const std::string& path, Site site = {});

}  // namespace tutti::journal
