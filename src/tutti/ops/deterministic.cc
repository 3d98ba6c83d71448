#include "tutti/ops/deterministic.h"

#include <atomic>

#include "tutti/base/environment.h"

namespace tutti {

namespace {

std::atomic<bool>& determinism() noexcept {
  static std::atomic<bool> setting{environment_bool("TUTTI_DETERMINISTIC").value_or(true)};
  return setting;
}

}  // namespace

void set_deterministic(bool deterministic) noexcept { determinism().store(deterministic, std::memory_order_relaxed); }
bool is_deterministic() noexcept { return determinism().load(std::memory_order_relaxed); }

}  // namespace tutti
