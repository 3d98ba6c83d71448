#include "tutti/memory/pool_lock.h"

#include <exception>
#include <optional>

#include "tutti/hal/door.h"

namespace tutti {

void PoolLock::lock_contended(Site site) noexcept {
  if (lock_.lock_unless(is_long_)) return;
  std::optional<BlockingRegion> waiting;
  try {
    waiting.emplace(reason_.load(std::memory_order_relaxed), site);
  } catch (const std::exception&) {
    // The ledger has no memory for a new site; letting memory go must not fail for that.
  }
  lock_.lock();
}

}  // namespace tutti
