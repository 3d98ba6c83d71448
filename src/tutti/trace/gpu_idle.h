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
  std::uint64_t idle = 0;  // ns in which GPUs did nothing because of waits of the site, of all of them together
  std::uint64_t gain = 0;  // ns by which the time looked at would be shorter without them, as simulated
};

struct DeviceTime {
  std::uint32_t device = 0;
  std::uint64_t busy = 0;  // with any work on it
};

struct GpuCost {
  std::uint64_t time = 0;           // looked at: the steps, or all that was recorded
  std::uint64_t device_time = 0;    // the same for each of the devices, added up
  std::vector<DeviceTime> devices;  // that had work in it
  std::uint64_t busiest = 0;        // of a process, the device that was busy longest; added up
  std::uint64_t simulated = 0;      // the same time, simulated with every wait as it was: how far the simulation can be trusted
  std::uint64_t gain = 0;           // without any of the waits

  [[nodiscard]] std::uint64_t busy() const noexcept;  // of all devices together
};

// Which waits of a site a simulation leaves out.
struct LeftOut {
  std::size_t site = 0;
  double part = 1;  // of them
};

// What the waits of one process cost its GPUs, and in `sites` what those of each site do. None where no work of theirs was
// recorded. Tells each wait the idle time it caused.
std::optional<GpuCost> gpu_cost(HostWaits& all, std::size_t process, const std::optional<Steps>& steps, const ProcessTrace& trace,
                                std::vector<SiteCost>& sites);

// By how much the time looked at would be shorter without all of these at once: what one of them alone gains, the host would wait
// for at the next. Of one process.
std::uint64_t gain_without(const std::vector<LeftOut>& left_out, const HostWaits& all, std::size_t process,
                           const std::optional<Steps>& steps, const ProcessTrace& trace);

// Where a step without waits takes longer than its work does, a prediction tells the least that a repair gains: what else the
// host does for a wait is in no record.
bool is_limited_by_host(std::uint64_t busiest, std::uint64_t time_without_waits) noexcept;

}  // namespace tutti::tracing
