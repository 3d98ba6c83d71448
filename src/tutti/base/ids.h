// Strong small types for ids: a device is never a naked int.
#pragma once

#include <cstdint>

namespace tutti {

// Index into the runtime's logical devices.
enum class DeviceId : std::uint32_t {};

// Names one timeline. Id 0 is no stream: its points are always done.
enum class StreamId : std::uint32_t { none = 0 };

template <class Id>
constexpr auto index_of(Id id) noexcept {
  return static_cast<std::uint32_t>(id);
}

}  // namespace tutti
