// Configuration that is frozen by first use: visible devices, growth, logical devices, simulated GPUs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/hal/simulation.h"
#include "tutti/place/physical_device.h"

namespace tutti {

constexpr std::uint64_t KiB(std::uint64_t n) noexcept { return n << 10U; }
constexpr std::uint64_t MiB(std::uint64_t n) noexcept { return n << 20U; }
constexpr std::uint64_t GiB(std::uint64_t n) noexcept { return n << 30U; }

struct LogicalDeviceConfiguration {
  std::uint64_t memory_limit = 0;  // bytes; 0: no limit of its own
  friend bool operator==(const LogicalDeviceConfiguration&, const LogicalDeviceConfiguration&) = default;
};

// A logical device as users name it.
struct LogicalDeviceInfo {
  std::string name;  // "/device:GPU:0"
  std::string type;
  unsigned index = 0;
  std::uint64_t memory_limit = 0;
};

// Each of these may be called again with the same value at any time; a change after the runtime was initialised throws
// ConfigurationFrozen, which names the call that initialised it. Bad values throw InvalidArgument here, not later.
void set_visible_devices(const std::vector<PhysicalDevice>& devices, std::string_view type = {}, Site site = {});
void set_visible_devices(std::initializer_list<PhysicalDevice> devices, std::string_view type = {}, Site site = {});
void set_visible_devices(const PhysicalDevice& device, std::string_view type = {}, Site site = {});
std::vector<PhysicalDevice> get_visible_devices(std::string_view type = {}, Site site = {});
void set_memory_growth(const PhysicalDevice& gpu, bool grow, Site site = {});
bool get_memory_growth(const PhysicalDevice& gpu, Site site = {});
void set_logical_device_configuration(const PhysicalDevice& device, const std::vector<LogicalDeviceConfiguration>& logical,
                                      Site site = {});
std::vector<LogicalDeviceConfiguration> get_logical_device_configuration(const PhysicalDevice& device, Site site = {});
// Before devices are first listed or used. TUTTI_SIM_GPUS=n does the same from outside.
void simulate_gpus(unsigned count, const SimulationOptions& options = {}, Site site = {});

// Initialises the runtime.
std::vector<LogicalDeviceInfo> list_logical_devices(std::string_view type = {}, Site site = {});

}  // namespace tutti
