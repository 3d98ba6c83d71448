// Why the host blocks: what the program demanded, and what the runtime does for its own flow.
#pragma once

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
  memory_mapping,
  back_pressure,
  module_load,
  capture_start,
  shutdown,
};

constexpr bool is_demand(SyncReason reason) noexcept { return reason <= SyncReason::collective; }

// "value read", "back-pressure"; lives for ever.
const char* to_string(SyncReason reason) noexcept;

}  // namespace tutti
