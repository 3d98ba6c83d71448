#include "tutti/backends/strand/host_waiter.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>

namespace tutti {

namespace {

// A few microseconds: most waits for small work end here, without a system call on either side.
constexpr int spins_before_blocking = 400;

// Not a condition variable: that one's mutex is still held by the notifier when the host wakes, so the host would sleep twice.
using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free);

// Returns when woken, when the word is not 0, when the deadline has passed, or for no reason at all.
void sleep_on(Word& word, Deadline deadline) noexcept {
  timespec until{};
  if (deadline) {
    const auto since = std::max(deadline->time_since_epoch(), Clock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    until.tv_sec = seconds.count();
    until.tv_nsec = std::chrono::nanoseconds(since - seconds).count();
  }
  // With a bitset the time is a point of the steady clock, not a length.
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, deadline ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void wake_host(void* word) noexcept {
  // The waiter may have seen it and be gone. The kernel needs the address only; whoever else sleeps there wakes for no reason,
  // as every user of a futex must expect.
  (void)::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void notify_host(void* word) noexcept {
  static_cast<Word*>(word)->store(1, std::memory_order_release);
  wake_host(word);
}

void sleep_until_woken(Word& word) noexcept {
  while (word.load(std::memory_order_acquire) == 0) sleep_on(word, std::nullopt);
}

bool wait_on_host(Timeline& line, std::uint64_t value, Deadline deadline) {
  for (int i = 0; i < spins_before_blocking; ++i) {
    if (line.is_done(value)) return true;
    _mm_pause();
  }
  Word reached{0};
  if (!line.when_reached(value, notify_host, &reached)) return true;
  while (reached.load(std::memory_order_acquire) == 0) {
    if (deadline && Clock::now() >= *deadline) {
      line.forget(&reached);  // also waits for a notification that is still at work on the word
      return line.is_done(value);
    }
    sleep_on(reached, deadline);
  }
  return true;  // who was notified is off the timeline's list
}

}  // namespace tutti
