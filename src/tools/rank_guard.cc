#include "tools/rank_guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <vector>

namespace tutti::tools {

namespace {

// Numbers of groups come, to be watched, or negative, to be forgotten; the end of the line is the end of the launcher.
[[noreturn]] void keep_guard(int line) {
  ::setsid();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "tutti guard");
  // Others wait for the end of what the launcher has open.
  ::dup2(line, 0);
  ::close_range(1, ~0U, 0);
  std::vector<pid_t> groups;
  pid_t number = 0;
  for (;;) {
    const ssize_t count = ::read(0, &number, sizeof number);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof number) break;
    if (number > 0) {
      groups.push_back(number);
    } else {
      std::erase(groups, -number);
    }
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

RankGuard::RankGuard() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "no pipe can be made");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[1]);
    keep_guard(ends[0]);
  }
  const int error = errno;
  ::close(ends[0]);
  line_ = ends[1];
  if (pid_ < 0) {
    ::close(line_);
    throw std::system_error(error, std::generic_category(), "no process can be started");
  }
}

RankGuard::~RankGuard() {
  ::close(line_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void RankGuard::tell(pid_t number) noexcept {
  // So few bytes are written whole; a guard that is gone leaves the launcher as it would be without one.
  while (::write(line_, &number, sizeof number) < 0 && errno == EINTR) continue;
}

void RankGuard::watch(pid_t group) noexcept { tell(group); }
void RankGuard::forget(pid_t group) noexcept { tell(-group); }

}  // namespace tutti::tools
