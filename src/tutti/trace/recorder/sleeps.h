// Threads that sleep until the GPU has got somewhere, without a call into the driver: a host callback wakes them, or a thread
// that a host callback has woken, as in JAX. Seen where the library is preloaded: it then stands before the functions of the C
// library through which threads sleep and wake.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::tracing {

// From now on, in this process. Before, and in a process that never comes here, those functions are the C library's own.
void watch_sleeps();
// In a forked child.
void leave_sleeps_alone() noexcept;
// Where host callbacks were enqueued and no sleep was seen that one ended: what was seen instead. Empty: some were.
std::string why_no_sleeps();

// For the driver's own: a sleep in there belongs to the call that was made.
struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool contains(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }
};

}  // namespace tutti::tracing
