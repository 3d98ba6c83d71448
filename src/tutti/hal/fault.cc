#include "tutti/hal/fault.h"

#include <atomic>
#include <mutex>
#include <vector>

#include "tutti/hal/simulation.h"

namespace tutti {

namespace {

struct Faults {
  std::mutex mutex;
  std::vector<Fault> waiting;
  void (*cleared)() noexcept = nullptr;
  Simulation simulation;
};

Faults& faults() {
  static Faults& instance = *new Faults;
  return instance;
}

std::atomic<bool> any_fault{false};

}  // namespace

void inject_fault(const Fault& fault) {
  const std::lock_guard lock(faults().mutex);
  faults().waiting.push_back(fault);
  any_fault.store(true, std::memory_order_release);
}

void clear_faults() noexcept {
  void (*cleared)() noexcept = nullptr;
  {
    const std::lock_guard lock(faults().mutex);
    faults().waiting.clear();
    any_fault.store(false, std::memory_order_release);
    cleared = faults().cleared;
  }
  if (cleared != nullptr) cleared();
}

bool detail::take_fault(FaultKind kind, const char* op) noexcept {
  if (!any_fault.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(faults().mutex);
  for (Fault& fault : faults().waiting) {
    if (fault.kind != kind || fault.times == 0 || (!fault.op.empty() && fault.op != op)) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    --fault.times;
    return true;
  }
  return false;
}

void detail::on_faults_cleared(void (*callback)() noexcept) {
  const std::lock_guard lock(faults().mutex);
  faults().cleared = callback;
}

void set_simulation(const Simulation& simulation) {
  const std::lock_guard lock(faults().mutex);
  faults().simulation = simulation;
}

Simulation simulation() {
  const std::lock_guard lock(faults().mutex);
  return faults().simulation;
}

}  // namespace tutti
