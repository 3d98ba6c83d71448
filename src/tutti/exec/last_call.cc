#include "tutti/exec/last_call.h"

#include <mutex>

#include "tutti/base/short_lock.h"
#include "tutti/base/text.h"
#include "tutti/exec/op_table.h"

namespace tutti {

namespace {

ShortLock guard;
const OpRow* last_op = nullptr;
Site last_site;

}  // namespace

std::atomic<bool> detail::notes_calls{false};

void detail::note_call(const OpRow& op, Site site) noexcept {
  const std::lock_guard lock(guard);
  last_op = &op;
  last_site = site;
}

void note_calls_from_now_on() noexcept { detail::notes_calls.store(true, std::memory_order_relaxed); }

std::string last_call() {
  const OpRow* op = nullptr;
  Site site;
  {
    const std::lock_guard lock(guard);
    op = last_op;
    site = last_site;
  }
  return op == nullptr ? std::string() : text(op->function, " at ", site.to_string());
}

}  // namespace tutti
