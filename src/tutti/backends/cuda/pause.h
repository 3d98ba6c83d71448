// How long to rest between two looks at a word the device writes: not at all at first, then a small share of the time that
// has passed, so that a long wait costs little and is noticed soon.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "tutti/base/clock.h"

namespace tutti::cuda {

class Pause {
 public:
  void restart() noexcept { begin_ = now(); }
  [[nodiscard]] Nanoseconds elapsed() const noexcept { return now() - begin_; }
  // Zero: look again at once.
  [[nodiscard]] std::chrono::nanoseconds next() const noexcept {
    const Nanoseconds passed = elapsed();
    if (passed < spinning) {
      _mm_pause();
      return {};
    }
    return std::chrono::nanoseconds(std::min(passed / share, longest));
  }

 private:
  static constexpr Nanoseconds spinning = 1'000'000;  // a sleep ends about 60 us late
  static constexpr Nanoseconds longest = 500'000;
  static constexpr Nanoseconds share = 64;
  Nanoseconds begin_ = now();
};

}  // namespace tutti::cuda
