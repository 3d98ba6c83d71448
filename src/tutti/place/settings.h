// Settings that may change at any time: process-wide switches and those of the calling thread.
#pragma once

#include <atomic>

#include "tutti/base/site.h"
#include "tutti/place/thread_state.h"

namespace tutti {

// Soft: an unknown device is replaced by the best existing one, with a warning once per site. Off by default.
void set_soft_device_placement(bool enabled) noexcept;
bool get_soft_device_placement() noexcept;
// "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0", as TensorFlow has it, and a line per implicit
// copy. What chose the device follows in brackets where without it the op had gone elsewhere.
void set_log_device_placement(bool enabled) noexcept;
bool get_log_device_placement() noexcept;

// Of the calling thread.
void set_copy_policy(CopyPolicy policy) noexcept;
CopyPolicy get_copy_policy() noexcept;
// On by default: CPU ops whose inputs are ready run in the caller. Off: they are always enqueued.
void set_synchronous_execution(bool enabled) noexcept;
bool get_synchronous_execution() noexcept;

// Cores that one CPU kernel may use; clamped to what the machine has. Returns the number in force. Initialises.
unsigned set_num_threads(unsigned threads, Site site = {});
unsigned get_num_threads(Site site = {});

namespace detail {
extern std::atomic<bool> log_placement;
extern std::atomic<bool> soft_placement;
}  // namespace detail

}  // namespace tutti
