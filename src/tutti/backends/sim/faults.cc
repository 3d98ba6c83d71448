#include "tutti/backends/sim/faults.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>

#include "tutti/backends/strand/strand.h"
#include "tutti/base/environment.h"
#include "tutti/hal/fault.h"

namespace tutti {

namespace {

// TUTTI_SIM_FAULT=17: one fault, chosen by that seed, for any program.
[[maybe_unused]] const bool was_asked_for = [] {
  const std::optional<std::uint64_t> seed = environment_unsigned("TUTTI_SIM_FAULT");
  if (!seed) return false;
  std::mt19937_64 random(*seed);
  constexpr std::array kinds{FaultKind::kernel, FaultKind::kernel, FaultKind::copy, FaultKind::allocation};
  inject_fault({.kind = kinds[random() % kinds.size()], .skip = random() % 24});
  return true;
}();

}  // namespace

FailureRef SimFaults::fault_for(const WorkRing::Slot& work) noexcept {
  const FaultKind kind = work.is_copy ? FaultKind::copy : FaultKind::kernel;
  if (!detail::take_fault(kind, work.name)) return nullptr;
  return std::make_shared<const Failure>(work.is_copy ? FailureKind::copy : FailureKind::kernel,
                                         work.is_copy ? "injected copy failure" : "injected kernel failure", work.function,
                                         device_, work.site);
}

bool SimFaults::holds(Strand& strand) noexcept {
  const auto is_held = [&] {
    const std::lock_guard lock(mutex_);
    return std::find(held_.begin(), held_.end(), &strand) != held_.end();
  };
  // A scheduler that asks again before the release gets the same answer.
  if (any_held_.load(std::memory_order_acquire) && is_held()) return true;
  if (!detail::take_fault(FaultKind::stall, "")) return false;
  const std::lock_guard lock(mutex_);
  held_.push_back(&strand);
  any_held_.store(true, std::memory_order_release);
  return true;
}

void SimFaults::release() noexcept {
  std::vector<Strand*> held;
  {
    const std::lock_guard lock(mutex_);
    held = std::exchange(held_, {});
    any_held_.store(false, std::memory_order_release);
  }
  for (Strand* strand : held) strand->resume();
}

}  // namespace tutti
