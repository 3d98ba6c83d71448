// Who runs strands: a pool of workers, or one seeded scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/hal/parallel.h"

namespace tutti {

class Strand;

class StrandDriver {
 public:
  StrandDriver() = default;
  StrandDriver(const StrandDriver&) = delete;
  StrandDriver& operator=(const StrandDriver&) = delete;
  virtual ~StrandDriver() = default;

  virtual void attach(Strand& strand) = 0;
  // Work was submitted to it. Called by the submitting thread.
  virtual void submitted(Strand& strand) = 0;
  // What it waited for has come. Called under the lock of a timeline.
  virtual void resumed(Strand& strand) noexcept = 0;
  // Blocks until the strand has completed `value`; false when the deadline passed first.
  virtual bool block_until(Strand& strand, std::uint64_t value, Deadline deadline) = 0;
  // The host asks for work that is not done. A driver whose work goes on by itself has nothing to do.
  virtual void polled() noexcept {}
  // The cores that a kernel run by this driver may use.
  virtual Parallel& parallel() noexcept = 0;
  // Ends its threads once every attached strand has resolved all its work.
  virtual void stop() noexcept = 0;
};

// A driver for one device: a pool of its own with `workers` threads or, if the simulation is stepped, the one scheduler
// of the process, CPU included. That one runs nothing until the host waits or polls (or, now and then, submits), and then picks
// among the strands that can go on by a generator with the simulation's seed.
std::shared_ptr<StrandDriver> make_driver(unsigned workers, const char* name, bool lends_cores);

// A thread of its own for one strand whose work may block; where the simulation is stepped, the one scheduler runs that too.
std::shared_ptr<StrandDriver> make_thread(const char* name);

struct ScheduleStep {
  std::uint32_t stream;
  std::uint64_t value;
  friend bool operator==(const ScheduleStep&, const ScheduleStep&) = default;
};
// What the stepped scheduler ran so far, in order; empty with the threaded driver.
std::vector<ScheduleStep> stepped_schedule();

}  // namespace tutti
