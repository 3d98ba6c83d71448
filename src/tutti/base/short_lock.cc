#include "tutti/base/short_lock.h"

#include <immintrin.h>

#include <thread>

namespace tutti {

namespace {
constexpr int spins_before_yielding = 100;

void rest(int& spins) noexcept {
  if (spins < spins_before_yielding) {
    ++spins;
    _mm_pause();
  } else {
    std::this_thread::yield();
  }
}
}  // namespace

void ShortLock::lock_contended() noexcept {
  for (int spins = 0;;) {
    while (held_.load(std::memory_order_relaxed)) rest(spins);
    if (!held_.exchange(true, std::memory_order_acquire)) return;
  }
}

bool ShortLock::lock_unless(const std::atomic<bool>& is_long) noexcept {
  for (int spins = 0;;) {
    while (held_.load(std::memory_order_relaxed)) {
      if (is_long.load(std::memory_order_acquire)) return false;
      rest(spins);
    }
    if (!held_.exchange(true, std::memory_order_acquire)) return true;
  }
}

}  // namespace tutti
