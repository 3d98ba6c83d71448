#include "tutti/hal/work_ring.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace tutti {

WorkRing::WorkRing(const StreamOptions& options)
    : most_ops_(options.most_ops),
      most_bytes_(options.most_bytes),
      mask_(std::bit_ceil(options.most_ops) - 1),
      slots_(static_cast<std::byte*>(::operator new((mask_ + 1) * sizeof(Slot), std::align_val_t{alignof(Slot)}))) {
  static_assert(std::is_trivially_destructible_v<Slot>);
}

void WorkRing::put(std::uint64_t value, const Work& work, std::span<const TimelinePoint> after, bool whole) {
  Slot& into = *new (&at(value)) Slot;
  into.kind = work.kind;
  into.name = work.name;
  into.function = work.function != nullptr ? work.function : work.name;
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
  work.kind->pack(work.source, into.payload.data(), whole);
  traffic_submitted_ += work.traffic_bytes;
}

std::uint64_t WorkRing::full_until(const Timeline& line, std::uint64_t traffic_bytes) const noexcept {
  const std::uint64_t submitted = line.submitted();
  const auto is_full = [&] {
    const std::uint64_t in_flight = submitted - seen_completed_;
    return in_flight >= most_ops_ || (in_flight > 0 && traffic_submitted_ - seen_traffic_ + traffic_bytes > most_bytes_);
  };
  if (!is_full()) [[likely]]
    return 0;
  seen_traffic_ = traffic_completed_.load(std::memory_order_acquire);
  seen_completed_ = line.completed();
  if (!is_full()) return 0;
  // Half of it, so that the host is woken once for many ops.
  return submitted - (submitted - seen_completed_) / 2;
}

std::vector<PendingWork> WorkRing::pending(const Timeline& line, StreamId stream, std::uint64_t running) const {
  std::vector<PendingWork> out;
  for (std::uint64_t value = line.completed() + 1; value <= line.submitted(); ++value) {
    const Slot& work = at(value);
    out.push_back({work.function, work.site, {stream, value}, work.submitted_at, value == running});
  }
  return out;
}

}  // namespace tutti
