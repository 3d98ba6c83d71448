#include "tutti/place/scope.h"

#include <memory>
#include <mutex>
#include <unordered_set>

#include "tutti/hal/lifecycle.h"
#include "tutti/place/configuration.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace {

// Placement records outlive scopes; the names they point to are few and stay.
const char* intern(const std::string& name) {
  static std::mutex& mutex = *new std::mutex;
  static auto& names = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace

DeviceScope::DeviceScope(std::string_view name, Site site) {
  require_usable(site);
  const DeviceSpec own = parse_device_name(name, site);
  const bool clears = name.empty() || name == "/";
  auto entry = std::make_unique<detail::ScopeEntry>();
  entry->site = site;
  const detail::ScopeEntry* outer = detail::without_left(detail::thread_state.scope);
  entry->spec = outer != nullptr && !clears ? merge(outer->spec, own) : own;
  entry->is_automatic = entry->spec == DeviceSpec{};
  entry->requested = intern(to_string(entry->spec));
  detail::enter_scope(detail::thread_state.scope, entry_ = entry.release());
}

DeviceScope::DeviceScope(const LogicalDeviceInfo& device, Site site) : DeviceScope(device.name, site) {}
DeviceScope::DeviceScope(const LogicalDevice& device, Site site) : DeviceScope(device.name(), site) {}

DeviceScope::~DeviceScope() { detail::leave_scope(detail::thread_state.scope, entry_, "device scope", entry_->site); }

}  // namespace tutti
