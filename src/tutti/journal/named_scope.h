// A part of the program with a name: a span in the journal's trace, and a range in the tool a program is run under.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"
#include "tutti/journal/journal.h"

namespace tutti {

namespace journal {

// Where a tool's own ranges are opened and closed, per thread and nested. Both must be quick while no tool is attached.
struct RangeHooks {
  void (*push)(const char* name) noexcept;
  void (*pop)() noexcept;
};
// The hooks live for ever; null: none. Called by a backend that knows a tool.
void set_range_hooks(const RangeHooks* hooks) noexcept;

// The same text, living for ever. The number of different texts is bounded; beyond it all are "(more names)".
const char* lasting_name(const char* name);

namespace detail {
extern std::atomic<const RangeHooks*> range_hooks;
}

}  // namespace journal

// Lives on the stack of one thread; scopes nest. What the thread enqueues meanwhile runs on the devices when it runs: the scope
// is the host's time. A scope that was open when a recording began or ended is not in it.
class NamedScope {
 public:
  // The name is needed only during this call.
  explicit NamedScope(const char* name, Site site = {}) : site_(site) {
    hooks_ = journal::detail::range_hooks.load(std::memory_order_acquire);
    if (hooks_ != nullptr) hooks_->push(name);
    if (journal::is_recording()) [[unlikely]]
      begin(name);
  }
  explicit NamedScope(const std::string& name, Site site = {}) : NamedScope(name.c_str(), site) {}
  explicit NamedScope(std::nullptr_t, Site site = {}) = delete;
  ~NamedScope() {
    if (name_ != nullptr) [[unlikely]]
      end();
    if (hooks_ != nullptr) hooks_->pop();
  }
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  void begin(const char* name) noexcept;
  void end() noexcept;

  const journal::RangeHooks* hooks_;
  const char* name_ = nullptr;  // null: not recorded
  Nanoseconds begin_ = 0;
  Site site_;
};

}  // namespace tutti
