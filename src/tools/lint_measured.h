// What a trace measured at the findings of `tutti lint --with`.
#pragma once

#include <string>

#include "tools/lint_output.h"
#include "tools/lint_settings.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tools {

// Throws where there is none.
tracing::TraceReport read_measurements(const std::string& trace);

// Whether a file of that name waited in the trace.
bool is_measured(const tracing::TraceReport& trace, const std::string& path);

// Joins the sites of a trace to the findings by file and line: the end of the path counts, and the line's text where it has
// moved. `run` holds findings of every confidence; those below the settings' stay only where they were measured, and what the
// trace alone shows to be a tensor is added.
void add_measurements(LintRun& run, const tracing::TraceReport& trace, const LintSettings& settings);

}  // namespace tutti::tools
