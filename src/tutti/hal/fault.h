// Faults on purpose, for simulated GPUs: the next matching allocation, kernel or copy fails, or a stream stands still.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/base/site.h"
#include "tutti/hal/failure.h"

namespace tutti {

enum class FaultKind : std::uint8_t { allocation, kernel, copy, stall };

struct Fault {
  FaultKind kind = FaultKind::kernel;
  std::string op = {};      // only this op; empty: any
  std::uint64_t skip = 0;   // let this many matching ones pass first
  std::uint64_t times = 1;  // then hit this many
};

void inject_fault(const Fault& fault);
// Forgets every fault and lets stalled streams go on.
void clear_faults() noexcept;

namespace detail {
// Does the next thing of this kind fail? Cheap when no fault is set.
bool take_fault(FaultKind kind, const char* op) noexcept;
// Called by clear_faults after the faults are gone.
void on_faults_cleared(void (*callback)() noexcept);
}  // namespace detail

}  // namespace tutti
