// `tutti trace`: any CUDA program, unchanged, with every wait of its host at its line; and traces that were recorded before.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

struct TraceOptions {
  std::string folder;                // empty: tutti-trace, tutti-trace-2, ...
  std::string read;                  // a folder to report on, instead of a program
  std::vector<std::string> compare;  // two folders: before and after
  std::optional<unsigned> budget;    // waits a step that are allowed
  std::string baseline;              // a report.json whose waits are allowed
  bool records_work = false;
  bool as_json = false;  // what was compared
  std::vector<std::string> command;
};

inline constexpr const char* trace_example =
    "The report goes to stderr; the folder holds it as a page (report.html) and as\n"
    "report.json, a timeline for Perfetto as timeline.json, and what was recorded.\n"
    "The exit status is the program's; 127 if there is no such program. If the\n"
    "program was well: 3 where a budget or a baseline was passed, 1 where nothing\n"
    "was traced that they could judge.\n\n"
    "Example:\n"
    "  tutti trace -o before -- python3 train.py\n"
    "  tutti trace --compare before after";

// The exit status to give.
int trace_program(const TraceOptions& options);
int report_trace(const TraceOptions& options);
int compare_traces(const TraceOptions& options);

}  // namespace tutti::tools
