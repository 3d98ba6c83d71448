// A lock for a few instructions at a time: one exchange to take it, one store to let it go.
#pragma once

#include <atomic>

namespace tutti {

// Meets std::unique_lock's needs. A thread that finds it held spins for a moment and then gives its turn away: whoever
// holds it is about to let it go.
class ShortLock {
 public:
  ShortLock() = default;
  ShortLock(const ShortLock&) = delete;
  ShortLock& operator=(const ShortLock&) = delete;

  void lock() noexcept {
    if (!held_.exchange(true, std::memory_order_acquire)) [[likely]]
      return;
    lock_contended();
  }
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  // Gives up, false, as soon as the holder says that it will be long.
  bool lock_unless(const std::atomic<bool>& is_long) noexcept;
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void lock_contended() noexcept;

  std::atomic<bool> held_{false};
};

}  // namespace tutti
