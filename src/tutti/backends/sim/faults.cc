#include "tutti/backends/sim/faults.h"

#include <utility>

#include "tutti/backends/strand/strand.h"
#include "tutti/hal/fault.h"

namespace tutti {

FailureRef SimFaults::fault_for(const char* op, bool is_copy, Site site) noexcept {
  const FaultKind kind = is_copy ? FaultKind::copy : FaultKind::kernel;
  if (!detail::take_fault(kind, op)) return nullptr;
  return std::make_shared<const Failure>(Failure{is_copy ? FailureKind::copy : FailureKind::kernel,
                                                 is_copy ? "injected copy failure" : "injected kernel failure", op, device_, site});
}

bool SimFaults::holds(Strand& strand) noexcept {
  if (!detail::take_fault(FaultKind::stall, "")) return false;
  const std::lock_guard lock(mutex_);
  held_.push_back(&strand);
  return true;
}

void SimFaults::release() noexcept {
  std::vector<Strand*> held;
  {
    const std::lock_guard lock(mutex_);
    held = std::exchange(held_, {});
  }
  for (Strand* strand : held) strand->resume();
}

}  // namespace tutti
