// The steps of a program, recognised by the waits, or else the kernels, that come again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/trace/host_waits.h"
#include "tutti/trace/trace_file.h"

namespace tutti::tracing {

struct Steps {
  std::optional<std::size_t> site;  // whose wait each step begins with
  std::string kernel;               // or, where nothing waits, the kernel it begins with
  std::uint64_t warm_up = 0;        // steps at the beginning that took longer
  std::uint64_t begin = 0;          // of the first step after these
  std::uint64_t end = 0;
  std::vector<std::uint64_t> times;  // of each step after these

  // Steps that were begun after the warm-up; the last one may not have come to its end.
  [[nodiscard]] std::uint64_t begun() const noexcept { return times.size() + 1; }
  // The time that this part of the steps is below or at; 0.5: the median
  [[nodiscard]] std::uint64_t quantile(double part) const;
};

using StepsOfProcesses = std::vector<std::optional<Steps>>;

// Of each process; none where nothing comes again often enough. Marks what comes before the steady steps as warm-up; of a process
// without steps, what comes before those of the leading one.
StepsOfProcesses find_steps(HostWaits& all, const std::vector<ProcessTrace>& traces);

// Of those with steps, the process that waits most, or else has most work.
std::optional<std::size_t> leading_process(const StepsOfProcesses& steps, const std::vector<ProcessTrace>& traces);

}  // namespace tutti::tracing
