#include "tutti/place/memory_control.h"

#include "tutti/place/runtime.h"

namespace tutti {

MemoryInfo memory_info(std::string_view device, Site site) { return find_device(device, site).memory().info(); }
void reset_peak(std::string_view device, Site site) { find_device(device, site).memory().reset_peak(); }
void set_memory_limit(std::string_view device, std::uint64_t bytes, Site site) {
  find_device(device, site).memory().set_limit(bytes, site);
}
std::uint64_t trim_memory(std::string_view device, Site site) { return find_device(device, site).memory().trim(site); }

}  // namespace tutti
