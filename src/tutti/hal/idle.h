// How long a device has nothing to do because the host waited for it: begun by the door, ended by the next piece of work.
#pragma once

#include <atomic>

#include "tutti/base/clock.h"
#include "tutti/hal/ledger_switch.h"

namespace tutti::detail {

struct SiteAccount;

// One per device. With no wait behind it, a submission costs a load.
class IdleSince {
 public:
  // The device has run dry behind a wait. The first wait is the cause; others that follow find it idle already.
  void begin(SiteAccount& cause) noexcept;
  void end() noexcept {
    if constexpr (!keeps_ledger) return;
    if (cause_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      charge();
  }

 private:
  void charge() noexcept;

  std::atomic<Nanoseconds> since_{0};
  std::atomic<SiteAccount*> cause_{nullptr};
};

}  // namespace tutti::detail
