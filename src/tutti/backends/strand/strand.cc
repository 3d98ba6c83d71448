#include "tutti/backends/strand/strand.h"

#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "tutti/hal/device.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/journal/journal.h"

namespace tutti {

Strand::Strand(Device& device, const StreamOptions& options, std::shared_ptr<StrandDriver> driver, FaultHook* faults)
    : DeviceStream(device, options),
      driver_(std::move(driver)),
      faults_(faults),
      mask_(std::bit_ceil(options.most_ops) - 1),
      slots_(static_cast<std::byte*>(::operator new((mask_ + 1) * sizeof(Slot), std::align_val_t{alignof(Slot)}))) {
  static_assert(std::is_trivially_destructible_v<Slot>);
  driver_->attach(*this);
}

Strand::~Strand() = default;

std::span<const TimelinePoint> Strand::after_of(const Slot& work) noexcept {
  return {work.more_after != nullptr ? work.more_after->data() : work.after.data(), work.after_count};
}

template <bool ForWriting>
void Strand::fetch_ahead(std::uint64_t value) const noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t lines = 5;  // the head and a payload of three operands
  const auto* first = reinterpret_cast<const std::byte*>(&slot(value));
  for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(first + i * line, ForWriting ? 1 : 0);
}

TimelinePoint Strand::full_until(std::uint64_t traffic_bytes) const {
  const std::uint64_t submitted = own_timeline().submitted();
  const auto is_full = [&] {
    const std::uint64_t in_flight = submitted - seen_completed_;
    return in_flight >= options().most_ops ||
           (in_flight > 0 && traffic_submitted_ - seen_traffic_ + traffic_bytes > options().most_bytes);
  };
  if (!is_full()) [[likely]]
    return {};
  seen_traffic_ = traffic_completed_.load(std::memory_order_acquire);
  seen_completed_ = own_timeline().completed();
  if (!is_full()) return {};
  // Half of it, so that the host is woken once for many ops.
  return {id(), submitted - (submitted - seen_completed_) / 2};
}

TimelinePoint Strand::submit(const Work& work, std::span<const TimelinePoint> after) {
  const std::uint64_t value = own_timeline().submitted() + 1;
  Slot& into = *new (&slot(value)) Slot;
  into.kind = work.kind;
  into.name = work.name;
  into.site = work.site;
  into.submitted_at = coarse_now();
  into.traffic_bytes = work.traffic_bytes;
  into.is_copy = work.is_copy;
  into.after_count = static_cast<std::uint32_t>(after.size());
  into.more_after = nullptr;
  if (after.size() <= inline_after) {
    std::copy(after.begin(), after.end(), into.after.begin());
  } else {
    into.more_after = new std::vector<TimelinePoint>(after.begin(), after.end());
  }
  std::memcpy(into.payload.data(), work.payload, work.payload_bytes);
  traffic_submitted_ += work.traffic_bytes;
  fetch_ahead<true>(value + 2);
  own_timeline().set_submitted(value);
  return {id(), value};
}

bool Strand::can_run() {
  const std::uint64_t value = own_timeline().completed() + 1;
  if (value > own_timeline().submitted()) return false;
  for (const TimelinePoint& point : after_of(slot(value))) {
    if (!is_done(point)) return false;
  }
  return true;
}

Strand::Progress Strand::run_one() {
  const std::uint64_t value = own_timeline().completed() + 1;
  if (value > seen_submitted_) {
    seen_submitted_ = own_timeline().submitted();
    if (value > seen_submitted_) return Progress::empty;
  }
  Slot& work = slot(value);
  for (const TimelinePoint& point : after_of(work)) {
    if (is_done(point)) continue;
    const auto resume_strand = [](void* strand) noexcept { static_cast<Strand*>(strand)->resume(); };
    if (timeline(point.stream).when_reached(point.value, resume_strand, this)) return Progress::waiting;
  }
  if (faults_ != nullptr && faults_->holds(*this)) return Progress::waiting;
  if (value + 2 <= seen_submitted_) fetch_ahead<false>(value + 2);
  run(work, value);
  return Progress::ran;
}

void Strand::run(Slot& work, std::uint64_t value) {
  delete work.more_after;
  work.more_after = nullptr;
  work.after_count = 0;
  if (value <= cancelled_up_to_.load(std::memory_order_acquire)) {
    const auto why = std::make_shared<const Failure>(
        Failure{FailureKind::cancelled, "it was cancelled before it started", work.name, device().name(), work.site});
    work.kind->abandon(work.payload.data(), why);
  } else {
    running_.store(value, std::memory_order_relaxed);
    RunContext context{*this, driver_->parallel(), {id(), value}, nullptr};
    if (faults_ != nullptr) context.fault = faults_->fault_for(work.name, work.is_copy, work.site);
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
    if (failure) report(std::move(failure));
  }
  traffic_completed_.store(traffic_completed_.load(std::memory_order_relaxed) + work.traffic_bytes, std::memory_order_release);
  own_timeline().advance(value);
}

void Strand::cancel() {
  const std::lock_guard lock(order());
  cancelled_up_to_.store(own_timeline().submitted(), std::memory_order_release);
}

std::vector<PendingWork> Strand::pending() const {
  std::vector<PendingWork> out;
  // Slots are overwritten under this lock only, so what is read here is whole.
  const std::lock_guard lock(const_cast<Strand*>(this)->order());
  const std::uint64_t running = running_.load(std::memory_order_relaxed);
  for (std::uint64_t value = own_timeline().completed() + 1; value <= own_timeline().submitted(); ++value) {
    const Slot& work = slot(value);
    out.push_back({work.name, work.site, {id(), value}, work.submitted_at, value == running});
  }
  return out;
}

}  // namespace tutti
