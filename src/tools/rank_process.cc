#include "tools/rank_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/mesh/wire/key.h"

namespace tutti::tools {

namespace {

constexpr int status_of_ssh = 255;
constexpr std::chrono::milliseconds for_last_lines{500};
// What was killed ends at once, but where the system holds it.
constexpr std::chrono::seconds for_killed{2};

struct Pipe {
  int read = -1;
  int write = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "no pipe can be made");
    read = ends[0];
    write = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(read);
    close(write);
  }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(char* const* argv, char** envp, std::array<int, 3> standard, int failure) {
  // A session of its own: what asks a question of the terminal (ssh for a password) fails there and is told, instead of being
  // stopped for asking from the background.
  ::setsid();
  for (int i = 0; i < 3; ++i) {
    if (standard[static_cast<std::size_t>(i)] != i) ::dup2(standard[static_cast<std::size_t>(i)], i);
  }
  // The launcher takes its signals from a descriptor and minds neither a broken pipe nor a file that may not grow; the program
  // has all as they usually are.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  environ = envp;
  ::execvp(argv[0], argv);
  const int error = errno;
  if (::write(failure, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

void write_all(int descriptor, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // it has ended already, which is noticed by itself
    done += static_cast<std::size_t>(count);
  }
}

// A job's secret is among what a rank is given.
class Wiping {
 public:
  explicit Wiping(RankStart& start) : start_(start) {}
  ~Wiping() {
    for (std::string& each : start_.environment) wire::wipe(each.data(), each.size());
    wire::wipe(start_.greeting.data(), start_.greeting.size());
  }
  Wiping(const Wiping&) = delete;
  Wiping& operator=(const Wiping&) = delete;

 private:
  RankStart& start_;
};

}  // namespace

RankProcess::RankProcess(RankStart start) : is_remote_(start.is_remote) {
  const Wiping wiping(start);
  Pipe output;
  Pipe errors;
  Pipe input;
  Pipe failure;
  std::vector<char*> argv = pointers(start.command);
  std::vector<char*> envp = pointers(start.environment);
  Pipe nothing;
  Pipe::close(nothing.write);
  const int in = start.is_remote ? input.read : start.keeps_input ? STDIN_FILENO : nothing.read;
  const auto begin = [&] { become(argv.data(), envp.data(), {in, output.write, errors.write}, failure.write); };
  // A connection that ssh keeps for later, of others too, is not the launch's.
  guard_.emplace(begin, is_remote_ ? RankGuard::Reach::group : RankGuard::Reach::everything);
  Pipe::close(failure.write);
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(failure.read, &error, sizeof error)) < 0 && errno == EINTR) continue;
  if (count == sizeof error) {
    guard_->sweep();
    guard_->wait();
    throw NotRun(error, std::generic_category(), start.command[0]);
  }
  ::fcntl(output.read, F_SETFL, O_NONBLOCK);
  ::fcntl(errors.read, F_SETFL, O_NONBLOCK);
  output_ = std::exchange(output.read, -1);
  errors_ = std::exchange(errors.read, -1);
  if (is_remote_) {
    input_ = std::exchange(input.write, -1);
    Pipe::close(input.read);
    write_all(input_, start.greeting);
    ::fcntl(input_, F_SETFL, O_NONBLOCK);
  }
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : guard_(std::move(other.guard_)),
      status_(other.status_),
      has_ended_(other.has_ended_),
      ended_at_(other.ended_at_),
      swept_at_(other.swept_at_),
      is_swept_(other.is_swept_),
      is_remote_(other.is_remote_),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)) {}

RankProcess::~RankProcess() {
  close_output();
  close_errors();
  Pipe::close(input_);
}

bool RankProcess::look(Time now) {
  if (has_ended_) return false;
  const auto status = guard_->take_status();
  if (!status) return false;
  status_ = *status;
  has_ended_ = true;
  ended_at_ = now;
  Pipe::close(input_);
  return true;
}

std::optional<RankProcess::Time> RankProcess::sweeps_at() const noexcept {
  if (!has_ended_ || is_swept_) return std::nullopt;
  if (swept_at_) return *swept_at_ + for_killed;
  const bool is_open = output_ >= 0 || errors_ >= 0;
  return is_open && !WIFSIGNALED(status_) ? ended_at_ + for_last_lines : ended_at_;
}

void RankProcess::sweep(Time now) {
  if (!has_ended_ || is_swept_) return;
  is_swept_ = guard_->has_ended();
  if (is_swept_ || now < *sweeps_at()) return;
  if (swept_at_) {
    guard_->leave();
    is_swept_ = true;
  } else {
    guard_->sweep();
    swept_at_ = now;
  }
}

void RankProcess::signal(int number) {
  if (has_ended_) return;
  if (is_remote_ && input_ >= 0) {
    const std::string line = text(::sigabbrev_np(number), "\n");
    // A pipe that is full is one that nobody reads: then the way there is cut.
    if (::write(input_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  }
  const bool is_message = number == SIGUSR1 || number == SIGUSR2;
  ::kill(is_message ? pid() : -pid(), number);
}

void RankProcess::kill_here() const noexcept {
  if (!has_ended_) ::kill(-pid(), SIGKILL);
}

void RankProcess::close_output() noexcept { Pipe::close(output_); }
void RankProcess::close_errors() noexcept { Pipe::close(errors_); }

std::string RankProcess::how_it_ended() const {
  if (WIFSIGNALED(status_)) {
    const char* const name = ::sigdescr_np(WTERMSIG(status_));
    return text("signal ", WTERMSIG(status_), " (", name == nullptr ? "of real time" : name, ")");
  }
  const bool may_be_ssh = is_remote_ && WEXITSTATUS(status_) == status_of_ssh;
  return text("status ", WEXITSTATUS(status_),
              may_be_ssh ? ", as ssh does when the way there fails or a signal ends the program" : "");
}

int RankProcess::exit_code() const noexcept { return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_); }

}  // namespace tutti::tools
