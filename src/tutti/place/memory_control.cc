#include "tutti/place/memory_control.h"

#include <mutex>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/place/physical_device.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace {

// What the other logical devices of its physical device may hold. One without a limit of its own shares what there is.
std::uint64_t promised_to_others(const Runtime& instance, LogicalDevice& device) {
  const PhysicalDeviceInfo& physical = device.device().physical();
  std::uint64_t sum = 0;
  for (LogicalDevice* other : instance.devices()) {
    const PhysicalDeviceInfo& theirs = other->device().physical();
    if (other == &device || theirs.type != physical.type || theirs.index != physical.index) continue;
    const std::uint64_t limit = other->memory().info().limit;
    if (limit < physical.memory_bytes) sum += limit;
  }
  return sum;
}

}  // namespace

MemoryInfo memory_info(std::string_view device, Site site) { return find_device(device, site).memory().info(); }
void reset_peak(std::string_view device, Site site) { find_device(device, site).memory().reset_peak(); }

void set_memory_limit(std::string_view device, std::uint64_t bytes, Site site) {
  static std::mutex& mutex = *new std::mutex;  // two that are raised at once see each other's limit
  LogicalDevice& on = find_device(device, site);
  const std::uint64_t there = on.device().physical().memory_bytes;
  const std::uint64_t wanted = bytes != 0 ? bytes : there;
  const std::lock_guard lock(mutex);
  const std::uint64_t others = promised_to_others(runtime(site), on);
  if (wanted > on.memory().info().limit && (wanted > there || others > there - wanted)) {
    throw InvalidArgument(
        text("a memory limit of ", human_bytes(wanted), " was asked for on ", on.name(), ", but ",
             PhysicalDevice{on.type(), on.device().physical().index}.name(), " has ", human_bytes(there),
             others == 0 ? "" : text(", of which ", human_bytes(others), " are promised to its other logical devices"),
             "; ask for at most ", human_bytes(there - others)),
        site);
  }
  on.memory().set_limit(bytes, site);
}

std::uint64_t trim_memory(std::string_view device, Site site) { return find_device(device, site).memory().trim(site); }

}  // namespace tutti
