#include "tutti/backends/strand/stepped.h"

#include <algorithm>

#include "tutti/backends/strand/strand.h"
#include "tutti/hal/kernel_thread.h"

namespace tutti {

void SteppedDriver::attach(Strand& strand) {
  const std::lock_guard lock(mutex_);
  strands_.push_back({&strand, draw(1U << 30U)});
}

std::uint64_t SteppedDriver::draw(std::uint64_t below) noexcept {
  state_ ^= state_ << 13U;
  state_ ^= state_ >> 7U;
  state_ ^= state_ << 17U;
  return (state_ * 0x2545F4914F6CDD1DULL >> 33U) % below;
}

void SteppedDriver::submitted(Strand&) {
  if (is_inside_kernel()) return;  // the mutex is ours already
  const std::lock_guard lock(mutex_);
  ++news_;
  changed_.notify_all();
  if (is_lazy_ || draw(4) != 0) return;
  for (std::uint64_t steps = draw(3); steps > 0 && step(); --steps) {}
}

void SteppedDriver::resumed(Strand&) noexcept {
  if (is_inside_kernel()) return;
  const std::lock_guard lock(mutex_);
  ++news_;
  changed_.notify_all();
}

std::size_t SteppedDriver::pick(const std::vector<Ranked*>& able) noexcept {
  if (!is_lazy_) return draw(able.size());
  // Ranks change rarely, so a strand keeps its lead for a while.
  if (draw(16) == 0) able[draw(able.size())]->rank = draw(1U << 30U);
  const auto best =
      std::max_element(able.begin(), able.end(), [](const Ranked* a, const Ranked* b) { return a->rank < b->rank; });
  return static_cast<std::size_t>(best - able.begin());
}

bool SteppedDriver::step() {
  std::vector<Ranked*> able;
  for (Ranked& each : strands_) {
    if (each.strand->can_run()) able.push_back(&each);
  }
  while (!able.empty()) {
    const std::size_t chosen = pick(able);
    Strand& strand = *able[chosen]->strand;
    const std::uint64_t value = strand.line().completed() + 1;
    if (strand.run_one() == Strand::Progress::ran) {
      schedule_.push_back({index_of(strand.id()), value});
      return true;
    }
    able.erase(able.begin() + static_cast<std::ptrdiff_t>(chosen));  // held by a fault
  }
  return false;
}

bool SteppedDriver::block_until(Strand& strand, std::uint64_t value, Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (!strand.line().is_done(value)) {
    if (deadline && Clock::now() >= *deadline) return false;
    if (step()) continue;
    // Nothing can go on: only another thread can help, by submitting or by releasing a fault.
    const std::uint64_t seen = news_;
    const auto something_new = [&] { return news_ != seen; };
    if (deadline) {
      if (!changed_.wait_until(lock, *deadline, something_new)) return strand.line().is_done(value);
    } else {
      changed_.wait(lock, something_new);
    }
  }
  return true;
}

void SteppedDriver::polled() noexcept {
  if (is_inside_kernel()) return;
  const std::lock_guard lock(mutex_);
  (void)step();
}

void SteppedDriver::stop() noexcept {
  std::vector<Ranked> strands;
  {
    const std::lock_guard lock(mutex_);
    strands = strands_;
  }
  for (const Ranked& each : strands) each.strand->cancel();
  const std::lock_guard lock(mutex_);
  while (step()) {}
}

std::vector<ScheduleStep> SteppedDriver::schedule() const {
  const std::lock_guard lock(mutex_);
  return schedule_;
}

}  // namespace tutti
