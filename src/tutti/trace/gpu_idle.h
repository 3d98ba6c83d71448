// What the waits cost the GPU: the time it had nothing to do because of each, and what a step would take without it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/trace/host_waits.h"
#include "tutti/trace/steps.h"
#include "tutti/trace/trace_file.h"

namespace tutti::tracing {

inline constexpr std::uint64_t just_before = 3'000;  // ns: the end of work, and of the wait for it, as two clocks tell it

struct SiteCost {
  std::uint64_t idle = 0;  // ns in which the GPU did nothing because of waits of the site
  std::uint64_t gain = 0;  // ns by which the time looked at would be shorter without them, as simulated
};

struct GpuCost {
  std::uint64_t time = 0;           // looked at: the steps, or all that was recorded
  std::uint64_t busy = 0;           // of it, with any work on the GPU
  std::uint64_t simulated = 0;      // the same time, simulated with every wait as it was: how far the simulation can be trusted
  std::uint64_t gain = 0;           // without any of the waits
  std::vector<SiteCost> sites;      // as those of the waits
  std::vector<std::uint64_t> idle;  // of each wait
};

// Which waits of a site a simulation leaves out.
struct LeftOut {
  std::size_t site = 0;
  double part = 1;  // of them
};

// Of the process whose steps they are, or of the one with the most work. None where the GPU's work was not recorded.
std::optional<GpuCost> gpu_cost(const HostWaits& all, const std::optional<Steps>& steps, const std::vector<ProcessTrace>& traces);

// By how much the time looked at would be shorter without all of these at once: what one of them alone gains, the host would wait
// for at the next.
std::uint64_t gain_without(const std::vector<LeftOut>& left_out, const HostWaits& all, const std::optional<Steps>& steps,
                           const std::vector<ProcessTrace>& traces);

}  // namespace tutti::tracing
