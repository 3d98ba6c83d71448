#include "tutti/backends/strand/leave_core.h"

#include <sched.h>

namespace tutti {

std::optional<int> leave_core(int core) noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || ::sched_setaffinity(0, sizeof others, &others) != 0) return std::nullopt;
  const int arrived = ::sched_getcpu();
  (void)::sched_setaffinity(0, sizeof allowed, &allowed);  // it was allowed a moment ago; if it no longer is, others are
  return arrived;
}

}  // namespace tutti
