// A small process beside the launcher that outlives it by a moment: if the launcher is killed, so is everything in the groups of
// its ranks, children of scripts included.
#pragma once

#include <sys/types.h>

namespace tutti::tools {

class RankGuard {
 public:
  // Before there are threads. Throws std::system_error.
  RankGuard();
  RankGuard(const RankGuard&) = delete;
  RankGuard& operator=(const RankGuard&) = delete;
  // Ends it; the groups it still watches are killed.
  ~RankGuard();

  // Whoever has the line may say it: the launcher, or a rank before it becomes its program.
  void watch(pid_t group) noexcept;
  void forget(pid_t group) noexcept;

 private:
  void tell(pid_t number) noexcept;

  int line_ = -1;
  pid_t pid_ = -1;
};

}  // namespace tutti::tools
