// How a member waits for a word in shared memory: a moment of spinning, then giving the core away, then asleep. With more
// processes than cores, who spins keeps the one he waits for from running.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/base/clock.h"

namespace tutti {

class Patience {
 public:
  // `word` is the address of 32 bits that change when there is something to see. `sleepers` counts those asleep, so that nobody
  // is woken by a system call while none is. One who is killed in his sleep is counted for ever, which costs a call.
  Patience(const void* word, std::atomic<std::uint32_t>& sleepers, Deadline deadline) noexcept
      : word_(word), sleepers_(sleepers), deadline_(deadline) {}

  // To be called again and again, with the word as it was when it was not yet as wished. False: the deadline has passed.
  bool once_more(std::uint32_t seen) noexcept;

 private:
  const void* word_;
  std::atomic<std::uint32_t>& sleepers_;
  Deadline deadline_;
  int spins_ = 0;
  Clock::time_point yields_until_{};
};

// After a change of the word that others wait for.
void wake_all(const void* word, const std::atomic<std::uint32_t>& sleepers) noexcept;

}  // namespace tutti
