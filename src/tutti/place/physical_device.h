// Physical devices: what the machine has, before anything is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/base/site.h"

namespace tutti {

struct PhysicalDevice {
  std::string type;  // "CPU", "GPU"
  unsigned index = 0;

  // "/physical_device:GPU:0"
  [[nodiscard]] std::string name() const;
  friend bool operator==(const PhysicalDevice&, const PhysicalDevice&) = default;
};

struct DeviceDetails {
  std::string device_name;  // "AMD EPYC", "Simulated GPU"
  std::string backend;      // "cpu", "sim", "cuda"
  std::uint64_t memory_bytes = 0;
  std::optional<std::pair<int, int>> compute_capability;
  std::string driver;  // "580.159.04, CUDA 13.0"; empty where there is none
};

// Every type, or one ("GPU", in any case). Touches no device.
std::vector<PhysicalDevice> list_physical_devices(std::string_view type = {}, Site site = {});
DeviceDetails get_device_details(const PhysicalDevice& device, Site site = {});
// Why there is no device of a kind this build could use: "there is no NVIDIA driver (libcuda.so.1)". Empty where nothing misses.
std::vector<std::string> missing_devices(Site site = {});

}  // namespace tutti
