// One rank of `tutti launch`: a process with pipes, in a session of its own, that does not outlive the launcher.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "tools/rank_guard.h"

namespace tutti::tools {

struct RankStart {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  bool is_remote = false;                // signals are told over its input
  std::string greeting;                  // for a remote one: what its input begins with
  bool keeps_input = false;              // of the launcher's; others read /dev/null
};

// The program itself could not be run; the code says why.
struct NotRun : std::system_error {
  using std::system_error::system_error;
};

class RankProcess {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Returns when the program runs. Throws NotRun, or std::system_error where no process could be made for it.
  explicit RankProcess(RankStart start);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  RankProcess& operator=(RankProcess&&) = delete;
  // Kills what still runs.
  ~RankProcess();

  [[nodiscard]] pid_t pid() const noexcept { return guard_->rank(); }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  [[nodiscard]] bool has_failed() const noexcept { return has_ended_ && status_ != 0; }
  // True when it has ended just now.
  bool look(Time now);
  // What it has left behind is killed: at once where a signal ended it, else when nobody has its output open any more, but no
  // later than sweeps_at(). A `tee` may have the last lines still.
  void sweep(Time now);
  [[nodiscard]] bool is_swept() const noexcept { return is_swept_; }
  // Nothing: it runs, or nothing is left of it.
  [[nodiscard]] std::optional<Time> sweeps_at() const noexcept;
  // Readable when look() or sweep() has something to see; -1: no more.
  [[nodiscard]] int news() const noexcept { return guard_->news(); }
  [[nodiscard]] bool has_lost_guard() const noexcept { return guard_->was_killed(); }

  // To everything in its group; SIGUSR1 and SIGUSR2 to itself alone, since they end whoever does not expect them.
  void signal(int number);
  // Of a remote one: its way there, which is a process of this host.
  void kill_here() const noexcept;
  // Reads of standard output and standard error; -1 once closed.
  [[nodiscard]] int output() const noexcept { return output_; }
  [[nodiscard]] int errors() const noexcept { return errors_; }
  void close_output() noexcept;
  void close_errors() noexcept;

  // "status 3", "signal 9 (Killed)"
  [[nodiscard]] std::string how_it_ended() const;
  // As a shell gives it: 128 and more for signals.
  [[nodiscard]] int exit_code() const noexcept;

 private:
  std::optional<RankGuard> guard_;  // always there
  int status_ = 0;
  bool has_ended_ = false;
  Time ended_at_{};
  std::optional<Time> swept_at_;
  bool is_swept_ = false;
  bool is_remote_ = false;
  int input_ = -1;  // of a remote one
  int output_ = -1;
  int errors_ = -1;
};

}  // namespace tutti::tools
