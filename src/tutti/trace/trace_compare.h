// Two traces of one program, before and after a change: which waits are gone, moved or new, and what a step takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

// What a wait is known by when lines have moved: file, function, expression or line of code, and the kind of wait.
std::string name_across_changes(const std::string& file, const std::string& function, const std::string& code,
                                const std::string& wait);
std::string name_across_changes(const WaitSite& site);

// After the warm-up: waits of a site for each step begun by a process that has it, or for each such process where there are no
// steps.
double waits_per_step(const TraceReport& report, const WaitSite& site);

struct WaitsPerStep {
  double waits = 0;
  std::size_t process = 0;
};
// Of the process that waits most.
WaitsPerStep most_waits_per_step(const TraceReport& report);

struct SiteChange {
  enum class Kind : std::uint8_t { gone, added, fewer, more, moved, same };
  Kind kind{};
  std::string place;
  std::string was_at;  // of what has moved
  std::string wait;
  double before = 0;  // waits a step
  double after = 0;
  double time_before = 0;  // ns a step
  double time_after = 0;
};

struct TraceComparison {
  std::vector<SiteChange> sites;  // those of the steps, by how much time changed
  std::uint64_t step_before = 0;  // ns; 0: no steps were recognised
  std::uint64_t step_after = 0;
  std::uint64_t spread_before = 0;  // from the tenth to the ninetieth of a hundred steps
  std::uint64_t spread_after = 0;
  std::uint64_t predicted = 0;  // a step without the waits that are gone or fewer, from the GPU's work; 0: not recorded before
  std::uint64_t busy = 0;       // before: of a step, with work on the busiest GPU
  bool host_is_limit = false;   // the predicted step is longer than that: it may turn out shorter
  bool only_moved = false;      // what the host no longer waits for here, it waits for elsewhere

  // What steps of one trace differ by; no change within it is one.
  [[nodiscard]] std::uint64_t spread() const noexcept { return std::max(spread_before, spread_after); }
  [[nodiscard]] std::string to_text() const;
  // One object; docs/trace.md tells its fields.
  [[nodiscard]] std::string to_json() const;
};

// `traces_before`: what `before` was made from, for what was predicted of the waits that have gone.
TraceComparison compare(const TraceReport& before, const TraceReport& after, const std::vector<ProcessTrace>& traces_before = {});

}  // namespace tutti::tracing
