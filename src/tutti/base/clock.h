// Time: a precise monotonic clock for measuring, a coarse one for stamps on hot paths.
#pragma once

#include <ctime>

#include <chrono>
#include <cstdint>
#include <optional>

namespace tutti {

using Nanoseconds = std::int64_t;
using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

inline Nanoseconds now() noexcept { return Clock::now().time_since_epoch().count(); }

// A few nanoseconds to read, a few milliseconds of resolution.
inline Nanoseconds coarse_now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// What the coarse clock goes forward by.
inline Nanoseconds coarse_tick() noexcept {
  timespec t{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// A century: whoever gives a longer timeout means for ever, and the clock could not count to nanoseconds::max() from now.
inline constexpr std::chrono::hours longest_timeout{24 * 365 * 100};

// A wait without a timeout has no deadline.
inline Deadline deadline_after(std::optional<std::chrono::nanoseconds> timeout) {
  if (!timeout || *timeout > longest_timeout) return std::nullopt;
  return Clock::now() + *timeout;
}

}  // namespace tutti
