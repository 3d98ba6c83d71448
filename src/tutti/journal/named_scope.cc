#include "tutti/journal/named_scope.h"

#include <mutex>
#include <unordered_set>

namespace tutti {

namespace journal {

namespace detail {
constinit std::atomic<const RangeHooks*> range_hooks{nullptr};
}

void set_range_hooks(const RangeHooks* hooks) noexcept { detail::range_hooks.store(hooks, std::memory_order_release); }

const char* lasting_name(const char* name) {
  constexpr std::size_t most_names = std::size_t{1} << 16U;  // a name with a number in it must not eat the machine
  struct Names {
    std::mutex mutex;
    std::unordered_set<std::string> all;  // nodes: a text stays where it is
  };
  static Names& names = *new Names;
  const std::lock_guard lock(names.mutex);
  if (const auto known = names.all.find(name); known != names.all.end()) return known->c_str();
  if (names.all.size() >= most_names) return "(more names)";
  return names.all.emplace(name).first->c_str();
}

}  // namespace journal

void NamedScope::begin(const char* name) noexcept {
  try {
    name_ = journal::lasting_name(name);
    begin_ = now();
  } catch (...) {  // out of memory: a trace never takes the program down
    name_ = nullptr;
  }
}

void NamedScope::end() noexcept {
  journal::record({.kind = journal::EventKind::scope, .name = name_, .site = site_, .begin = begin_, .end = now()});
}

}  // namespace tutti
