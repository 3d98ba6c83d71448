#include "tutti/backends/strand/strand.h"

#include <mutex>
#include <thread>

#include "tutti/hal/device.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/journal/journal.h"

namespace tutti {

Strand::Strand(Device& device, const StreamOptions& options, std::shared_ptr<StrandDriver> driver, FaultHook* faults)
    : DeviceStream(device, options), driver_(std::move(driver)), faults_(faults), ring_(options) {
  driver_->attach(*this);
}

Strand::~Strand() = default;

TimelinePoint Strand::full_until(std::uint64_t traffic_bytes) const {
  const std::uint64_t value = ring_.full_until(own_timeline(), traffic_bytes);
  return value == 0 ? TimelinePoint{} : TimelinePoint{id(), value};
}

TimelinePoint Strand::submit(const Work& work, std::span<const TimelinePoint> after) {
  const std::uint64_t value = own_timeline().submitted() + 1;
  ring_.put(value, work, after);
  ring_.fetch_ahead<true>(value + 2);
  own_timeline().set_submitted(value);
  return {id(), value};
}

bool Strand::can_run() {
  const std::uint64_t value = own_timeline().completed() + 1;
  if (value > own_timeline().submitted()) return false;
  for (const TimelinePoint& point : ring_.at(value).comes_after()) {
    if (!is_done(point)) return false;
  }
  return true;
}

bool Strand::must_wait() {
  for (const TimelinePoint& point : ring_.at(own_timeline().completed() + 1).comes_after()) {
    if (is_done(point)) continue;
    const auto resume_strand = [](void* strand) noexcept { static_cast<Strand*>(strand)->resume(); };
    if (timeline(point.stream).when_reached(point.value, resume_strand, this)) return true;
  }
  return false;
}

Strand::Progress Strand::run_one() {
  const std::uint64_t value = own_timeline().completed() + 1;
  if (value > seen_submitted_) {
    seen_submitted_ = own_timeline().submitted();
    if (value > seen_submitted_) return Progress::empty;
  }
  WorkRing::Slot& work = ring_.at(value);
  if (must_wait()) return Progress::waiting;
  if (faults_ != nullptr && faults_->holds(*this)) return Progress::waiting;
  if (value + 2 <= seen_submitted_) ring_.fetch_ahead<false>(value + 2);
  run(work, value);
  return Progress::ran;
}

void Strand::run(WorkRing::Slot& work, std::uint64_t value) {
  work.forget_after();
  if (value <= cancelled_up_to_.load(std::memory_order_acquire)) {
    const auto why = std::make_shared<const Failure>(FailureKind::cancelled, "it was cancelled before it started", work.function,
                                                     device().name(), work.site);
    work.kind->abandon(work.payload.data(), why);
  } else {
    running_.store(value, std::memory_order_relaxed);
    RunContext context{*this, driver_->parallel(), {id(), value}, work.function, nullptr};
    if (faults_ != nullptr) context.fault = faults_->fault_for(work);
    const bool traced = journal::is_recording();
    const Nanoseconds begin = traced ? now() : 0;
    FailureRef failure;
    {
      const InsideKernel inside;
      failure = work.kind->run(work.payload.data(), context);
    }
    if (traced) {
      journal::record({.kind = journal::EventKind::run,
                       .stream = id(),
                       .name = work.name,
                       .site = work.site,
                       .begin = begin,
                       .end = now(),
                       .value = value});
    }
    if (failure) report(std::move(failure), {id(), value});
  }
  ring_.resolved(work);
  own_timeline().advance(value);
}

void Strand::resolve_rest() noexcept {
  do {
    cancel();
    while (has_work()) {
      if (can_run()) {
        (void)run_one();
      } else {
        std::this_thread::yield();  // whoever submitted what it comes after is doing the same
      }
    }
    claimed.store(false, std::memory_order_seq_cst);
  } while (has_work() && !claimed.exchange(true, std::memory_order_seq_cst));
}

void Strand::cancel() {
  const std::lock_guard lock(order());
  cancelled_up_to_.store(own_timeline().submitted(), std::memory_order_release);
}

std::vector<PendingWork> Strand::pending() const {
  const std::lock_guard lock(const_cast<Strand*>(this)->order());
  return ring_.pending(own_timeline(), id(), running_.load(std::memory_order_relaxed));
}

}  // namespace tutti
