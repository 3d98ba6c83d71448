#include "tutti/base/short_lock.h"

#include <immintrin.h>

#include <thread>

namespace tutti {

namespace {
constexpr int spins_before_yielding = 100;
}

void ShortLock::lock_contended() noexcept {
  for (int spins = 0;;) {
    while (held_.load(std::memory_order_relaxed)) {
      if (spins < spins_before_yielding) {
        ++spins;
        _mm_pause();
      } else {
        std::this_thread::yield();
      }
    }
    if (!held_.exchange(true, std::memory_order_acquire)) return;
  }
}

}  // namespace tutti
