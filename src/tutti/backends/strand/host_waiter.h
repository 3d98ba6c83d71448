// The host's side of a wait on a timeline: registers, blocks, and is gone before its caller returns.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/base/clock.h"
#include "tutti/hal/timeline.h"

namespace tutti {

// False: the deadline passed first.
bool wait_on_host(Timeline& line, std::uint64_t value, Deadline deadline);

// Its parts, for a host that may be woken for other reasons too. A word is 0 until its host is to wake.
void sleep_until_woken(std::atomic<std::uint32_t>& word) noexcept;
// After the word was set. It may be gone by then.
void wake_host(void* word) noexcept;
// Both, as a timeline's Notify.
void notify_host(void* word) noexcept;

}  // namespace tutti
