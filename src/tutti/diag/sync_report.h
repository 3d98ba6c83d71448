// What the syncs of a program have cost so far: sites ranked with class and fix, and their place in time, for people and
// programs.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/diag/native_frame.h"
#include "tutti/diag/sync_class.h"
#include "tutti/hal/ledger.h"
#include "tutti/journal/journal.h"

namespace tutti {

// One place in the source, for one reason.
struct ReportedSync {
  SyncTotals totals;
  SyncVerdict verdict;
  std::vector<NativeFrame> stack;  // of the passage that blocked longest, innermost first; empty unless stacks are kept
};

struct SyncSum {
  std::uint64_t sites = 0;
  std::uint64_t calls = 0;
  std::uint64_t blocked = 0;
  std::uint64_t refused = 0;
  Nanoseconds blocked_time = 0;
  Nanoseconds device_idle = 0;
};

struct SyncReport {
  std::vector<ReportedSync> sites;  // demand, then flow; each by device idle caused, then time blocked
  SyncSum demand;                   // what the program asked for
  SyncSum flow;                     // what the runtime did for its own flow
  journal::Recording recording;     // empty where the journal recorded nothing
  std::string program;
  std::string about_stacks;  // what keeps frames from being named; empty: nothing, or there are none

  // For a terminal of 80 columns.
  [[nodiscard]] std::string to_text() const;
  // One object; docs/sync-report.md tells its fields. Fields may be added; none changes its meaning or goes.
  [[nodiscard]] std::string to_json() const;
  // One page that needs nothing else: the ranked sites and, where the journal recorded, a timeline.
  [[nodiscard]] std::string to_html() const;
};

// What the ledger and the journal know now. Blocks nobody and changes nothing.
SyncReport sync_report();

// The text.
std::ostream& operator<<(std::ostream& out, const SyncReport& report);

enum class SyncReportForm : std::uint8_t { text, json, html };

// Writes the report when the process ends (base/end_of_process.h). TUTTI_SYNC_REPORT=html:page.html makes this call before main()
// begins, and TUTTI_SYNC=report makes it for text. Without a path text goes to stderr, the others to tutti-sync.json and
// tutti-sync.html in the current folder. html records the journal from now on. A second call for a form changes the path. A
// forked child writes nothing. Processes of a job write a file each: page.rank0.html, page.rank1.html.
void sync_report_at_exit(SyncReportForm form, const std::string& path = "");

}  // namespace tutti
