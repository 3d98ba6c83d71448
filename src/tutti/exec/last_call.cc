#include "tutti/exec/last_call.h"

#include <mutex>

#include "tutti/base/short_lock.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

ShortLock guard;
const char* last_function = nullptr;
Site last_site;

}  // namespace

std::atomic<bool> detail::notes_calls{false};

void detail::note_call(const char* function, Site site) noexcept {
  const std::lock_guard lock(guard);
  last_function = function;
  last_site = site;
}

void note_calls_from_now_on() noexcept { detail::notes_calls.store(true, std::memory_order_relaxed); }

std::string last_call() {
  const char* function = nullptr;
  Site site;
  {
    const std::lock_guard lock(guard);
    function = last_function;
    site = last_site;
  }
  return function == nullptr ? std::string() : text(function, " at ", site.to_string());
}

}  // namespace tutti
