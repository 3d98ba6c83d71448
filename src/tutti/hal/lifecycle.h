// Whether the runtime may be used: running, shut down, or a forked copy whose threads are gone.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/base/site.h"

namespace tutti {

enum class Lifecycle : std::uint8_t { usable, shut_down, forked };

namespace detail {
extern std::atomic<Lifecycle> lifecycle;
[[noreturn]] void refuse_use(Site site);
}  // namespace detail

// Throws InvalidState that says why.
inline void require_usable(Site site) {
  if (detail::lifecycle.load(std::memory_order_relaxed) != Lifecycle::usable) [[unlikely]]
    detail::refuse_use(site);
}
inline bool is_usable() noexcept { return detail::lifecycle.load(std::memory_order_relaxed) == Lifecycle::usable; }
// A copy made by fork(): its locks may be held by threads it does not have.
inline bool is_forked() noexcept { return detail::lifecycle.load(std::memory_order_relaxed) == Lifecycle::forked; }

void set_lifecycle(Lifecycle state) noexcept;
// From now on a forked child is told that it cannot use the runtime it inherited.
void guard_against_fork();

}  // namespace tutti
