// A recording as a trace for chrome://tracing and Perfetto.
#pragma once

#include <string>

#include "tutti/base/site.h"
#include "tutti/journal/journal.h"

namespace tutti::journal {

// JSON with two processes: "host" with a lane per thread, "devices" with a lane per stream. Arrows lead from where the
// host enqueued work to where a stream ran it. Times are those of the monotonic clock, so that other traces of this
// machine can be laid beside it.
std::string to_chrome_trace(const Recording& recording);

// What was recorded so far, in pieces: the text is never in memory as a whole. Throws when the file cannot be written.
void write_chrome_trace(const std::string& path, Site site = {});

}  // namespace tutti::journal
