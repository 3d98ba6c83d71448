#include "tutti/place/scope.h"

#include <mutex>
#include <unordered_set>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/place/configuration.h"

namespace tutti {

namespace detail {
thread_local ScopeEntry* current_scope = nullptr;
}  // namespace detail

namespace {

// Placement records outlive scopes; the names they point to are few and stay.
const char* intern(const std::string& name) {
  static std::mutex& mutex = *new std::mutex;
  static auto& names = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace

DeviceScope::DeviceScope(std::string_view name, Site site) : site_(site) {
  require_usable(site);
  const DeviceSpec own = parse_device_name(name, site);
  const bool clears = own == DeviceSpec{};
  entry_.outer = detail::current_scope;
  entry_.spec = entry_.outer != nullptr && !clears ? merge(entry_.outer->spec, own) : own;
  entry_.requested = intern(to_string(entry_.spec));
  detail::current_scope = &entry_;
}

DeviceScope::DeviceScope(const LogicalDeviceInfo& device, Site site) : DeviceScope(device.name, site) {}

DeviceScope::~DeviceScope() {
  if (detail::current_scope == &entry_) {
    detail::current_scope = entry_.outer;
    return;
  }
  // Left out of order: take it out of the chain so the others stay right, and say so.
  for (detail::ScopeEntry* inner = detail::current_scope; inner != nullptr; inner = inner->outer) {
    if (inner->outer != &entry_) continue;
    inner->outer = entry_.outer;
    log(LogLevel::error, text("the device scope opened at ", site_.to_string(), " was left before one opened inside it; leave scopes in reverse order"));
    return;
  }
  log(LogLevel::error, text("the device scope opened at ", site_.to_string(), " was left on another thread; a scope belongs to its thread"));
}

}  // namespace tutti
