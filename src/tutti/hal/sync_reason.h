// Why the host blocks: what the program demanded, and what the runtime does for its own flow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

enum class SyncReason : std::uint8_t {
  // Demand: the program asked.
  value_read,
  data_dependent_shape,
  tensor_sync,
  stream_sync,
  event_sync,
  device_sync,
  all_devices_sync,
  barrier,
  collective,
  // Flow: the runtime's own.
  pageable_staging,
  memory_pressure,
  memory_mapping,    // the pool grew
  memory_trimming,   // it gave memory back to the device
  memory_remapping,  // and took it again
  back_pressure,
  module_load,
  capture_start,
  joining,
  shutdown,
};
inline constexpr std::size_t sync_reasons = static_cast<std::size_t>(SyncReason::shutdown) + 1;

constexpr bool is_demand(SyncReason reason) noexcept { return reason <= SyncReason::collective; }
// The program asked to wait, not for a value.
constexpr bool is_explicit(SyncReason reason) noexcept {
  return reason >= SyncReason::tensor_sync && reason <= SyncReason::all_devices_sync;
}

// "value read", "back-pressure"; lives for ever.
const char* to_string(SyncReason reason) noexcept;

// What the program does with what it waits for: said at the call, or known from the function called.
enum class Intent : std::uint8_t {
  unstated,
  print,    // shown to people: printing and formatting say so themselves
  log,      // written to a log
  store,    // kept for later
  branch,   // decides what the host does next: a value read as bool says so itself
  measure,  // the end of something timed: bench says so itself
};
inline constexpr std::size_t intents = 6;

const char* to_string(Intent intent) noexcept;

}  // namespace tutti
