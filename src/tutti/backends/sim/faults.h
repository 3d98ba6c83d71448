// Turns injected faults into failures of work and strands that stand still.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/backends/strand/fault_hook.h"

namespace tutti {

class SimFaults final : public FaultHook {
 public:
  explicit SimFaults(std::string device) : device_(std::move(device)) {}

  FailureRef fault_for(const WorkRing::Slot& work) noexcept override;
  bool holds(Strand& strand) noexcept override;
  // Lets every strand it holds go on.
  void release() noexcept;

 private:
  std::string device_;
  std::mutex mutex_;
  std::vector<Strand*> held_;
  std::atomic<bool> any_held_{false};
};

}  // namespace tutti
