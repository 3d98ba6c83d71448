// The scopes a thread has open, one inside the other: a chain that stays right when a scope is left out of order, or by another
// thread than its own.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "tutti/base/site.h"

namespace tutti::detail {

void log_left_on_another_thread(const char* what, Site opened_at) noexcept;
void log_left_out_of_order(const char* what, Site opened_at) noexcept;

// What a scope leaves with its thread. On the heap, since the thread may look at it after another one has destroyed the scope.
template <class Entry>
struct ScopeLink {
  Entry* outer = nullptr;
  Entry** chain = nullptr;           // its thread's innermost entry
  std::atomic<bool> is_left{false};  // by another thread, by mistake: its own takes it out of the chain
};

// Takes out what another thread has left; returns the innermost entry.
template <class Entry>
Entry* without_left(Entry*& innermost) noexcept {
  while (innermost != nullptr && innermost->is_left.load(std::memory_order_acquire))
    delete std::exchange(innermost, innermost->outer);
  return innermost;
}

template <class Entry>
void enter_scope(Entry*& innermost, Entry* entry) noexcept {
  entry->chain = &innermost;
  entry->outer = without_left(innermost);
  innermost = entry;
}

// `innermost`: of the calling thread. `what`: "device scope", for the log.
template <class Entry>
void leave_scope(Entry*& innermost, Entry* entry, const char* what, Site opened_at) noexcept {
  if (entry->chain != &innermost) {
    log_left_on_another_thread(what, opened_at);
    entry->is_left.store(true, std::memory_order_release);  // no longer ours: its thread may let go of it at once
    return;
  }
  const std::unique_ptr<Entry> gone(entry);
  if (without_left(innermost) == entry) {
    innermost = entry->outer;
    return;
  }
  for (Entry* inner = innermost; inner != nullptr; inner = inner->outer) {
    if (inner->outer != entry) continue;
    inner->outer = entry->outer;
    log_left_out_of_order(what, opened_at);
    return;
  }
}

}  // namespace tutti::detail
