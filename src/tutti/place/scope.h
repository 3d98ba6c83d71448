// The thread's current device: nested scopes whose names merge field by field.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "tutti/base/site.h"
#include "tutti/place/device_name.h"

namespace tutti {

class LogicalDevice;
struct LogicalDeviceInfo;

namespace detail {
struct ScopeEntry {
  ScopeEntry* outer = nullptr;
  DeviceSpec spec;                    // merged with the outer scopes
  bool is_automatic = false;          // it says nothing about the device
  const char* requested = "";         // the merged name, kept for ever
  LogicalDevice* resolved = nullptr;  // the one device it means, once known
  ScopeEntry** thread = nullptr;      // the chain it belongs to
  std::atomic<bool> is_left{false};   // on another thread, by mistake: its own takes it out of the chain
  Site site;                          // where it was opened
};
extern thread_local ScopeEntry* current_scope;  // null: automatic placement
// Takes out what another thread has left; returns the current scope.
ScopeEntry* without_left_scopes() noexcept;
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
