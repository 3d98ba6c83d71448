// How many files a process may have open, for tests and benchmarks with thousands of connections.
#pragma once

#include <sys/resource.h>

#include <algorithm>

namespace tutti {

// So many, from now on; false: this user may not.
inline bool may_open(rlim_t files) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, files), limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= files;
}

}  // namespace tutti
