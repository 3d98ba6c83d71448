#include "tutti/mesh/engines/patience.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>

namespace tutti {

namespace {

constexpr int most_spins = 50;
constexpr std::chrono::microseconds yielding{100};
// One who is killed between changing the word and waking the others must not let them sleep on.
constexpr std::chrono::milliseconds longest_sleep{250};

// Where others than the members want the cores too, whoever gives one away gets it back a time slice later, and is sooner awake
// from his sleep. Until then this process does not yield.
constexpr std::chrono::microseconds long_yield{500};
constexpr std::chrono::milliseconds no_yield{20};
std::atomic<Nanoseconds> yields_again{0};

// Whether a member took the core when it was last given away: then the one that is waited for is likely to stand behind this
// thread, and spinning keeps it from running. (Two members on one core and 4 bytes: 1.6 us instead of 3.0.)
constexpr std::chrono::microseconds nobody_came{1};
std::atomic<bool> is_core_shared{false};

void sleep_on(const void* word, std::uint32_t seen, Clock::time_point until) noexcept {
  const auto since_boot = std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
  timespec at{};
  at.tv_sec = since_boot / 1'000'000'000;
  at.tv_nsec = since_boot % 1'000'000'000;
  // Whatever ends it (a wake, a change before it, the time, a signal), the caller looks again.
  ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, &at, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

bool Patience::once_more(std::uint32_t seen) noexcept {
  if (spins_ < most_spins && !is_core_shared.load(std::memory_order_relaxed)) {
    ++spins_;
    _mm_pause();
    return true;
  }
  const auto now = Clock::now();
  if (deadline_ && now >= *deadline_) return false;
  if (yields_until_ == Clock::time_point{}) yields_until_ = now + yielding;
  if (now < yields_until_ && now.time_since_epoch().count() >= yields_again.load(std::memory_order_relaxed)) {
    ::sched_yield();
    const auto back = Clock::now();
    is_core_shared.store(back - now > nobody_came && back - now <= long_yield, std::memory_order_relaxed);
    if (back - now > long_yield) yields_again.store((back + no_yield).time_since_epoch().count(), std::memory_order_relaxed);
    return true;
  }
  const auto until = deadline_ ? std::min(*deadline_, now + longest_sleep) : now + longest_sleep;
  sleepers_.fetch_add(1);
  sleep_on(word_, seen, until);
  sleepers_.fetch_sub(1);
  return true;
}

void wake_all(const void* word, const std::atomic<std::uint32_t>& sleepers) noexcept {
  if (sleepers.load() != 0) ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tutti
