// What the management library (NVML) tells about a GPU without a context: memory in use, the driver's version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tutti::cuda {

// Bytes in use on the GPU with this PCI bus id, by every process; nothing where NVML is not there.
std::optional<std::uint64_t> used_bytes(const char* pci_bus_id) noexcept;
// "580.159.04", or empty.
std::string driver_version();

}  // namespace tutti::cuda
