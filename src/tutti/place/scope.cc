#include "tutti/place/scope.h"

#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/place/configuration.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace detail {
thread_local ScopeEntry* current_scope = nullptr;

ScopeEntry* without_left_scopes() noexcept {
  while (current_scope != nullptr && current_scope->is_left.load(std::memory_order_acquire)) {
    delete std::exchange(current_scope, current_scope->outer);
  }
  return current_scope;
}
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

DeviceScope::DeviceScope(std::string_view name, Site site) {
  require_usable(site);
  const DeviceSpec own = parse_device_name(name, site);
  const bool clears = name.empty() || name == "/";
  auto entry = std::make_unique<detail::ScopeEntry>();
  entry->site = site;
  entry->thread = &detail::current_scope;
  entry->outer = detail::without_left_scopes();
  entry->spec = entry->outer != nullptr && !clears ? merge(entry->outer->spec, own) : own;
  entry->is_automatic = entry->spec == DeviceSpec{};
  entry->requested = intern(to_string(entry->spec));
  detail::current_scope = entry_ = entry.release();
}

DeviceScope::DeviceScope(const LogicalDeviceInfo& device, Site site) : DeviceScope(device.name, site) {}
DeviceScope::DeviceScope(const LogicalDevice& device, Site site) : DeviceScope(device.name(), site) {}

DeviceScope::~DeviceScope() {
  if (entry_->thread != &detail::current_scope) {
    log(LogLevel::error, text("the device scope opened at ", entry_->site.to_string(),
                              " was left on another thread; a scope belongs to its thread"));
    entry_->is_left.store(true, std::memory_order_release);  // no longer ours: its thread may let go of it at once
    return;
  }
  const std::unique_ptr<detail::ScopeEntry> gone(entry_);
  if (detail::without_left_scopes() == entry_) {
    detail::current_scope = entry_->outer;
    return;
  }
  // Left out of order: take it out of the chain so the others stay right, and say so.
  for (detail::ScopeEntry* inner = detail::current_scope; inner != nullptr; inner = inner->outer) {
    if (inner->outer != entry_) continue;
    inner->outer = entry_->outer;
    log(LogLevel::error, text("the device scope opened at ", entry_->site.to_string(),
                              " was left before one opened inside it; leave scopes in reverse order"));
    return;
  }
}

}  // namespace tutti
