#include "tools/rank_guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>
#include <utility>

namespace tutti::tools {

namespace {

// Asks a guard to sweep; the system sends it too when the launcher dies.
int sweeping() { return SIGRTMIN; }

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t out;
  ::sigemptyset(&out);
  for (const int number : numbers) ::sigaddset(&out, number);
  return out;
}

void tell(int line, int word) {
  while (::write(line, &word, sizeof word) < 0 && errno == EINTR) continue;
}

// False at the end.
bool hear(int line, int& word) {
  ssize_t count = 0;
  while ((count = ::read(line, &word, sizeof word)) < 0 && errno == EINTR) continue;
  return count == sizeof word;
}

void reap(pid_t child, int* status) {
  while (::waitpid(child, status, 0) < 0 && errno == EINTR) continue;
}

// The status of the rank once it has ended. It stays a zombie, so that its number remains that of its group; what it left behind
// and has ended is taken away.
std::optional<int> look_at_children(pid_t rank) {
  for (;;) {
    siginfo_t found{};
    if (::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == 0) return std::nullopt;
    if (found.si_pid == rank)
      return found.si_code == CLD_EXITED ? W_EXITCODE(found.si_status, 0) : W_EXITCODE(0, found.si_status);
    reap(found.si_pid, nullptr);
  }
}

[[noreturn]] void keep_guard(pid_t rank, int news, RankGuard::Reach reach) {
  ::prctl(PR_SET_NAME, "tutti guard");
  // Others wait for the end of what the launcher has open.
  ::dup2(news, 0);
  ::close_range(1, ~0U, 0);
  const sigset_t awaited = set_of({SIGCHLD, sweeping()});
  for (bool is_told = false;;) {
    if (!is_told) {
      if (const auto status = look_at_children(rank)) {
        tell(0, *status);
        is_told = true;
      }
    }
    if (::sigwaitinfo(&awaited, nullptr) == sweeping()) break;
  }
  ::kill(rank, SIGKILL);  // it may have no group yet
  ::kill(-rank, SIGKILL);
  reap(rank, nullptr);
  if (reach == RankGuard::Reach::everything) kill_children();
  ::_exit(0);
}

[[noreturn]] void begin_guard(const std::function<void()>& become, pid_t launcher, int news, RankGuard::Reach reach) {
  ::setsid();  // what the terminal sends is the launcher's
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, sweeping());
  if (::getppid() != launcher) ::_exit(1);  // it died before the line above
  if (reach == RankGuard::Reach::everything) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t guard = ::getpid();
  const pid_t rank = ::fork();
  if (rank == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != guard) ::_exit(1);
    become();
    ::_exit(126);
  }
  tell(news, rank > 0 ? rank : -errno);
  if (rank < 0) ::_exit(1);
  keep_guard(rank, news, reach);
}

}  // namespace

RankGuard::RankGuard(const std::function<void()>& become, Reach reach) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "no pipe can be made");
  const pid_t launcher = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) begin_guard(become, launcher, ends[1], reach);
  int word = -errno;
  ::close(ends[1]);
  news_ = ends[0];
  if (pid_ > 0 && !hear(news_, word)) word = -ECHILD;  // it was killed
  if (word <= 0) {
    wait();
    throw std::system_error(-word, std::generic_category(), "no process can be started");
  }
  rank_ = word;
  ::fcntl(news_, F_SETFL, O_NONBLOCK);
}

RankGuard::RankGuard(RankGuard&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      rank_(other.rank_),
      news_(std::exchange(other.news_, -1)),
      was_killed_(other.was_killed_) {}

RankGuard::~RankGuard() {
  sweep();
  wait();
  leave();
}

std::optional<int> RankGuard::take_status() noexcept {
  if (pid_ < 0) return std::nullopt;
  int status = 0;
  errno = 0;
  if (hear(news_, status)) return status;
  if (errno == EAGAIN) return std::nullopt;
  return finish().value_or(SIGKILL);
}

std::optional<int> RankGuard::finish() noexcept {
  wait();
  siginfo_t found{};
  // A guard that was killed has left the rank to the launcher.
  if (::waitid(P_PID, static_cast<id_t>(rank_), &found, WEXITED | WNOHANG | WNOWAIT) != 0) return std::nullopt;
  was_killed_ = true;
  ::kill(rank_, SIGKILL);
  ::kill(-rank_, SIGKILL);
  int status = 0;
  reap(rank_, &status);
  return status;
}

bool RankGuard::has_ended() noexcept {
  if (pid_ < 0) return true;
  int word = 0;
  errno = 0;
  if (hear(news_, word) || errno == EAGAIN) return false;
  finish();
  return true;
}

void RankGuard::sweep() noexcept {
  if (pid_ > 0) ::kill(pid_, sweeping());
}

void RankGuard::wait() noexcept {
  if (pid_ > 0) reap(pid_, nullptr);
  leave();
}

void RankGuard::leave() noexcept {
  pid_ = -1;
  if (news_ >= 0) ::close(std::exchange(news_, -1));
}

void kill_children() noexcept {
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    bool has_any = false;
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child = 0; children >> child;) has_any = ::kill(child, SIGKILL) == 0 || has_any;
    if (!has_any) return;
    // Its own children are ours then.
    reap(-1, nullptr);
  }
}

}  // namespace tutti::tools
