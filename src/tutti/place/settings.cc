#include "tutti/place/settings.h"

namespace tutti {

namespace detail {
constinit thread_local ThreadState thread_state;
std::atomic<bool> log_placement{false};
std::atomic<bool> soft_placement{false};
}  // namespace detail

void set_soft_device_placement(bool enabled) noexcept { detail::soft_placement.store(enabled, std::memory_order_relaxed); }
bool get_soft_device_placement() noexcept { return detail::soft_placement.load(std::memory_order_relaxed); }
void set_log_device_placement(bool enabled) noexcept { detail::log_placement.store(enabled, std::memory_order_relaxed); }
bool get_log_device_placement() noexcept { return detail::log_placement.load(std::memory_order_relaxed); }

void set_copy_policy(CopyPolicy policy) noexcept { detail::thread_state.settings.copy_policy = policy; }
CopyPolicy get_copy_policy() noexcept { return detail::thread_state.settings.copy_policy; }
void set_synchronous_execution(bool enabled) noexcept { detail::thread_state.settings.synchronous = enabled; }
bool get_synchronous_execution() noexcept { return detail::thread_state.settings.synchronous; }

}  // namespace tutti
