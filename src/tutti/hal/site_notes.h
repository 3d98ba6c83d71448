// What a line of the ledger knows beyond its counters: why its last allowed sync was allowed and, on demand, who made it wait.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/short_lock.h"
#include "tutti/hal/ledger.h"

namespace tutti::detail {

// Whether waits are to leave their stacks.
extern std::atomic<bool> keeps_stacks;

// Of a fixed size, whatever the program says and however deep its stack is.
class SiteNotes {
 public:
  // A copy, cut to `most_reason` characters: the caller's text may go.
  void allowed(const char* why) noexcept;
  // Keeps the calling thread's stack if it blocked longer than the one kept, or if there is none.
  void offer_stack(Nanoseconds blocked) noexcept {
    if (stack_blocked_.load(std::memory_order_relaxed) < blocked) take_stack(blocked);
  }
  void clear() noexcept;

  [[nodiscard]] std::string allowed_because() const;
  [[nodiscard]] std::vector<const void*> stack() const;

  static constexpr std::size_t most_reason = 120;

 private:
  void take_stack(Nanoseconds blocked) noexcept;

  std::atomic<Nanoseconds> stack_blocked_{-1};
  mutable ShortLock lock_;  // guards what follows, for a copy of it
  std::array<char, most_reason + 1> why_{};
  std::size_t frame_count_ = 0;
  std::array<void*, most_stack_frames> frames_{};
};

}  // namespace tutti::detail
