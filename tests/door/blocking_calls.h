// Watches the calls by which a thread of this program can put itself to sleep: the C library's, interposed.
#pragma once

#include <cstdint>

namespace tutti::blocking_calls {

// Calls made by the calling thread so far.
std::uint64_t of_this_thread() noexcept;
// Of these, those made while the thread was not inside the door.
std::uint64_t outside_the_door() noexcept;
// Threads that watch() and are inside such a call now.
int asleep() noexcept;
// Counts this thread in asleep() while it lives.
class Watch {
 public:
  Watch() noexcept;
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

}  // namespace tutti::blocking_calls
