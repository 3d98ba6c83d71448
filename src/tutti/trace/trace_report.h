// The waits of a traced program, ranked, with class and fix: for people, for programs, and as a timeline.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/diag/sync_class.h"
#include "tutti/lint/use.h"
#include "tutti/trace/gpu_idle.h"
#include "tutti/trace/host_waits.h"
#include "tutti/trace/steps.h"
#include "tutti/trace/trace_file.h"

namespace tutti::tracing {

inline constexpr std::uint64_t most_small_value = 64;  // bytes: a flag, a number, a few of them

// A site's waits in one process.
struct SiteShare {
  std::size_t process = 0;
  std::uint64_t waits = 0;    // after the warm-up
  std::uint64_t warm_up = 0;  // and in it
  std::uint64_t time = 0;     // after the warm-up
  SiteCost cost{};
};

struct WaitSite {
  SiteKey key;
  WaitKind kind{};
  CopyDirection direction{};
  HostMemory memory{};
  std::uint64_t bytes = 0;    // of the largest copy
  std::uint64_t waits = 0;    // after the warm-up
  std::uint64_t warm_up = 0;  // and in it
  std::uint64_t time = 0;     // after the warm-up, in nanoseconds
  std::uint64_t warm_up_time = 0;
  std::uint64_t longest = 0;
  std::uint64_t instant = 0;         // of all: came back so quickly that there was nothing to wait for
  std::uint64_t in_a_row = 0;        // of all: began just after another one had ended that read a small value, too
  std::size_t previous = 0;          // the site of that one
  std::uint64_t of_main_thread = 0;  // on another thread, while the main thread was at this place
  std::vector<std::string> stack;    // of the longest, innermost first
  std::string range;                 // of the longest: the NVTX ranges it was in, outermost first; empty: none
  std::vector<std::string> native_names;
  std::vector<SiteShare> shares;    // of the processes that have it
  std::set<std::string> threads;    // that waited there: their names, or numbers
  std::set<std::uint64_t> streams;  // or events: the driver's handles, 0 left out
  SiteCost cost;                    // where the GPU's work was recorded; of all processes
  std::string_view rule;            // of the linter, that the place falls under; empty: none is known. Lives for ever
  lint::ValueUse use;               // of what was read there
  bool was_read = false;            // the linter has read the line
  SyncVerdict verdict;

  [[nodiscard]] std::uint64_t all() const noexcept { return waits + warm_up; }
  // Processes that have it after the warm-up, or else in it.
  [[nodiscard]] std::size_t processes() const noexcept;
};

struct TracedProcess {
  std::uint32_t pid = 0;
  std::string command;
  std::string python;
  std::uint64_t waits = 0;
  std::uint64_t time = 0;      // from its first use of CUDA to its last record
  bool has_ended = false;      // by itself, not killed
  bool was_untraced = false;   // nothing could be listened to, as a note says
  bool is_incomplete = false;  // the file is damaged, or had no room for all, as a note says
  std::vector<std::string> notes;
};

using Stacks = std::vector<std::map<std::uint32_t, ResolvedStack>>;  // of each process, by id

struct TraceReport {
  std::vector<TracedProcess> processes;
  std::vector<std::string> unread;  // files beside theirs that could not be read, and why
  std::vector<WaitSite>
      sites;  // by what they cost the GPU where that is known, then by time after the warm-up, then by time in it
  StepsOfProcesses process_steps;
  std::vector<std::optional<GpuCost>> process_gpu;  // none: work of its GPUs was not recorded
  std::size_t leading = 0;                          // the process whose steps are told first
  std::optional<Steps> steps;                       // of that one; none: no process has any
  std::optional<GpuCost> gpu;                       // of all processes together
  HostWaits waits;
  Stacks stacks;
  std::uint64_t host_callbacks = 0;

  // Steps begun after the warm-up; those of the leading one for a process that has none of its own. 0: no process has any.
  [[nodiscard]] std::uint64_t steps_of(std::size_t process) const;
  // By all processes that have the site after the warm-up.
  [[nodiscard]] std::uint64_t steps_of(const WaitSite& site) const;
  // What costs are divided by: steps from begin to end, of the processes that have the site, or of all whose GPUs were recorded.
  [[nodiscard]] std::uint64_t timed_steps(const WaitSite& site) const;
  [[nodiscard]] std::uint64_t timed_steps() const;

  // For a terminal of 80 columns.
  [[nodiscard]] std::string to_text() const;
  // One object; docs/trace.md tells its fields. Fields may be added; none changes its meaning or goes.
  [[nodiscard]] std::string to_json() const;
};

TraceReport make_report(const std::vector<ProcessTrace>& traces);
TraceReport make_report(const Traces& traces);

// For chrome://tracing and Perfetto: waits on a track of their own for each thread, the GPU's work by stream where it was
// recorded.
std::string to_timeline(const TraceReport& report, const std::vector<ProcessTrace>& traces);

// The page of diag, which needs nothing else: sites with their lines, threads and streams, waits tied to what they waited for.
std::string to_page(const TraceReport& report, const std::vector<ProcessTrace>& traces);

}  // namespace tutti::tracing
