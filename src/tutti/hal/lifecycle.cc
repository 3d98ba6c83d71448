#include "tutti/hal/lifecycle.h"

#include <pthread.h>

#include "tutti/base/error.h"

namespace tutti {

namespace detail {

std::atomic<Lifecycle> lifecycle{Lifecycle::usable};

void refuse_use(Site site) {
  if (lifecycle.load(std::memory_order_relaxed) == Lifecycle::forked) {
    throw InvalidState(
        "this process was forked from one whose tutti runtime was initialised, and a fork has none of its threads; "
        "fork before the first use of tutti, or start the child with exec",
        site);
  }
  throw InvalidState("the tutti runtime has been shut down; use it before shutdown() or the end of main", site);
}

}  // namespace detail

void set_lifecycle(Lifecycle state) noexcept { detail::lifecycle.store(state, std::memory_order_relaxed); }

void guard_against_fork() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { set_lifecycle(Lifecycle::forked); });
  if (registered != 0) throw InvalidState("pthread_atfork refused the handler: the process is out of memory", Site{});
}

}  // namespace tutti
