// The lock of a device's memory: short, but while its holder maps. Who comes meanwhile waits for that inside the door.
#pragma once

#include <atomic>

#include "tutti/base/short_lock.h"
#include "tutti/base/site.h"
#include "tutti/hal/sync_reason.h"

namespace tutti {

class PoolLock {
 public:
  PoolLock() = default;
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

  // `site`: whom the ledger is to name for a wait.
  void lock(Site site) noexcept {
    if (!lock_.try_lock()) [[unlikely]]
      lock_contended(site);
  }
  void unlock() noexcept { lock_.unlock(); }

  // By whoever holds it, around a call to the device that takes long.
  class Long {
   public:
    Long(PoolLock* lock, SyncReason reason) noexcept : lock_(lock) {
      if (lock_ == nullptr) return;
      lock_->reason_.store(reason, std::memory_order_relaxed);
      lock_->is_long_.store(true, std::memory_order_release);
    }
    ~Long() {
      if (lock_ != nullptr) lock_->is_long_.store(false, std::memory_order_release);
    }
    Long(const Long&) = delete;
    Long& operator=(const Long&) = delete;

   private:
    PoolLock* lock_;
  };

 private:
  void lock_contended(Site site) noexcept;

  ShortLock lock_;
  std::atomic<bool> is_long_{false};
  std::atomic<SyncReason> reason_{SyncReason::memory_mapping};
};

// Holds it to the end of a scope.
class HoldPool {
 public:
  HoldPool(PoolLock& lock, Site site) noexcept : lock_(lock) { lock_.lock(site); }
  ~HoldPool() { lock_.unlock(); }
  HoldPool(const HoldPool&) = delete;
  HoldPool& operator=(const HoldPool&) = delete;

 private:
  PoolLock& lock_;
};

}  // namespace tutti
