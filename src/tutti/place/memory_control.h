// Memory of a logical device, for users: figures, live limits, trimming.
#pragma once

#include <cstdint>
#include <string_view>

#include "tutti/base/site.h"
#include "tutti/memory/device_memory.h"

namespace tutti {

MemoryInfo memory_info(std::string_view device, Site site = {});
void reset_peak(std::string_view device, Site site = {});
// 0: all the device has. Refused, with the figures, when more is in use, or when the logical devices of one physical device
// would together hold more than it has.
void set_memory_limit(std::string_view device, std::uint64_t bytes, Site site = {});
// Gives memory nobody uses back to the device; returns how much.
std::uint64_t trim_memory(std::string_view device, Site site = {});

}  // namespace tutti
