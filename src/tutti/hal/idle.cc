#include "tutti/hal/idle.h"

#include "tutti/hal/device.h"
#include "tutti/hal/site_account.h"

namespace tutti::detail {

void IdleSince::begin(SiteAccount& cause) noexcept {
  if (cause_.load(std::memory_order_relaxed) != nullptr) return;
  since_.store(now(), std::memory_order_relaxed);
  cause_.store(&cause, std::memory_order_release);
}

void IdleSince::charge() noexcept {
  SiteAccount* cause = cause_.exchange(nullptr, std::memory_order_acquire);
  if (cause == nullptr) return;  // another thread did
  cause->device_idle.fetch_add(now() - since_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void begin_idle(SiteAccount& cause, std::span<const TimelinePoint> points) noexcept {
  if constexpr (!keeps_ledger) return;
  for (const TimelinePoint& point : points) {
    if (point.stream == StreamId::none) continue;
    DeviceStream* stream = timeline(point.stream).stream();
    if (stream != nullptr && !has_work(stream->device())) stream->device().idle().begin(cause);
  }
}

}  // namespace tutti::detail
