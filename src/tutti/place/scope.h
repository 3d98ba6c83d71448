// The thread's current device: nested scopes whose names merge field by field.
#pragma once

#include <string>
#include <string_view>

#include "tutti/base/scope_chain.h"
#include "tutti/base/site.h"
#include "tutti/place/device_name.h"
#include "tutti/place/thread_state.h"

namespace tutti {

class LogicalDevice;
struct LogicalDeviceInfo;

namespace detail {
struct ScopeEntry : ScopeLink<ScopeEntry> {
  DeviceSpec spec;                    // merged with the outer scopes
  bool is_automatic = false;          // it says nothing about the device
  const char* requested = "";         // the merged name, kept for ever
  LogicalDevice* resolved = nullptr;  // the one device it means, once known
  Site site;                          // where it was opened
};
}  // namespace detail

// Ops called while it lives run on that device. An empty name clears all outer scopes: automatic placement; "*" leaves them as
// they are. It belongs to its thread and is left in reverse order.
class DeviceScope {
 public:
  explicit DeviceScope(std::string_view name, Site site = {});
  // As list_logical_devices() and the meshes give them.
  explicit DeviceScope(const LogicalDeviceInfo& device, Site site = {});
  explicit DeviceScope(const LogicalDevice& device, Site site = {});
  explicit DeviceScope(const LogicalDevice* device, Site site = {}) : DeviceScope(*device, site) {}
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  detail::ScopeEntry* entry_;
};

}  // namespace tutti
