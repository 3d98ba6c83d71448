// Lets a backend spoil work on purpose: the failure to report instead of running it, or a strand that stands still.
#pragma once

#include "tutti/hal/failure.h"
#include "tutti/hal/work_ring.h"

namespace tutti {

class Strand;

class FaultHook {
 public:
  FaultHook() = default;
  FaultHook(const FaultHook&) = delete;
  FaultHook& operator=(const FaultHook&) = delete;
  virtual ~FaultHook() = default;

  // Asked once for every piece of work, before it runs.
  virtual FailureRef fault_for(const WorkRing::Slot& work) noexcept = 0;
  // True: the strand must stand still; the hook calls resume() on it later.
  virtual bool holds(Strand& strand) noexcept = 0;
};

}  // namespace tutti
