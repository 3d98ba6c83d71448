#include "tutti/mesh/control/coordinator_child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/host_port.h"

namespace tutti {

namespace {

std::string reason() { return std::generic_category().message(errno); }

bool is_runnable(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// Of the library this function is in, links followed.
std::string own_folder() {
  Dl_info found{};
  std::array<char, PATH_MAX> real{};
  if (::dladdr(reinterpret_cast<const void*>(&find_command), &found) == 0 || found.dli_fname == nullptr) return "";
  if (::realpath(found.dli_fname, real.data()) == nullptr) return "";
  const std::string path = real.data();
  return path.substr(0, path.rfind('/'));
}

std::string find_in_path(std::string_view folders) {
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    std::string candidate = text(folder, "/tutti");
    if (folder.starts_with('/') && is_runnable(candidate)) return candidate;
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
  }
  return "";
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};

  explicit Pipe(Site site) {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw InvalidState(text("no pipe can be made: ", reason()), site);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
  }
  void close_writing() {
    ::close(ends[1]);
    ends[1] = -1;
  }
};

// What the new process runs with: made before the fork, after which nothing may be allocated.
struct Program {
  std::vector<std::string> words;
  std::vector<std::string> variables;
  wire::Secret secret;  // a variable
  std::vector<char*> argv;
  std::vector<char*> envp;

  void seal() {
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(const_cast<char*>(secret.text().data()));
    argv.push_back(nullptr);
    envp.push_back(nullptr);
  }
};

Program program_of(const CoordinatorChild& child, Site site) {
  Program program;
  program.words = {find_command(site),          "coordinator", "--listen", child.listen,   "--world",
                   std::to_string(child.world), "--job",       child.job,  "--idle-limit", text(child.idle_limit.count(), "ms")};
  if (!child.job_file.empty()) program.words.insert(program.words.end(), {"--job-file", child.job_file});
  // What asks this process for a trace or a report does not ask the coordinator.
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("TUTTI_")) program.variables.emplace_back(*variable);
  }
  program.secret = "TUTTI_JOB_SECRET=" + child.secret.text();
  program.seal();
  return program;
}

// In the child: only calls that are safe after a fork of a process with threads.
[[noreturn]] void become(Program& program, int output, int lock) {
  static constexpr int kept_lock = 3;
  ::setsid();
  // The parent of the coordinator ends at once, so that nobody has to wait for it, and no signal tells of it.
  const pid_t again = ::_Fork();
  if (again != 0) ::_exit(again < 0 ? 1 : 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Above what is about to be overwritten.
  const int out = ::fcntl(output, F_DUPFD, 10);
  const int held = lock < 0 ? -1 : ::fcntl(lock, F_DUPFD, 10);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  if (held >= 0) ::dup2(held, kept_lock);
  // What this process has open (others wait for the end of its pipes) is not the coordinator's.
  if (::close_range(held >= 0 ? kept_lock + 1 : kept_lock, ~0U, 0) != 0) {
    for (int i = held >= 0 ? kept_lock + 1 : kept_lock; i < 65'536; ++i) ::close(i);
  }
  ::execve(program.argv[0], program.argv.data(), program.envp.data());
  ::_exit(127);
}

// The first line of what the child says; it says no more once it serves.
std::string first_line(int from, Deadline deadline, Site site) {
  std::string line;
  std::array<char, 512> bytes{};
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
    }
    pollfd ready{from, POLLIN, 0};
    const int count = ::poll(&ready, 1, milliseconds);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) throw DeadlineExceeded("the coordinator was started, and has not said in time where it listens", site);
    const ssize_t got = ::read(from, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return line;
    line.append(bytes.data(), static_cast<std::size_t>(got));
    if (const std::size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
  }
}

}  // namespace

std::string find_command(Site site) {
  if (const auto named = environment_text("TUTTI_COMMAND")) {
    if (!is_runnable(*named)) throw InvalidState(text("TUTTI_COMMAND='", printable(*named), "' cannot be run: ", reason()), site);
    return *named;
  }
  const std::string folder = own_folder();
  for (const char* beside : {"/../bin/tutti", "/../../bin/tutti", "/tutti"}) {
    if (!folder.empty() && is_runnable(folder + beside)) return folder + beside;
  }
  std::string in_path = find_in_path(environment_text("PATH").value_or(""));
  if (in_path.empty()) {
    throw InvalidState(text("the command `tutti`, which is the coordinator of a job, is neither beside the library in ", folder,
                            " nor in PATH; set TUTTI_COMMAND to it"),
                       site);
  }
  return in_path;
}

std::string start_coordinator(const CoordinatorChild& child, Deadline deadline, Site site) {
  Program program = program_of(child, site);
  Pipe said(site);
  // Handlers of other libraries for a fork are for a copy that goes on; this one does not.
  const pid_t first = ::_Fork();
  if (first < 0) throw InvalidState(text("the coordinator cannot be started: ", reason()), site);
  if (first == 0) become(program, said.ends[1], child.lock);
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) continue;
  said.close_writing();
  std::string line = first_line(said.ends[0], deadline, site);
  if (parse_host_port(line)) return line;
  static constexpr std::string_view mark = "tutti: error: ";
  const std::string_view told = std::string_view(line).substr(line.starts_with(mark) ? mark.size() : 0);
  throw InvalidState(text("the coordinator (", program.words[0], ") could not be started: ",
                          line.empty() ? std::string("it ended without a word") : printable(told, 300)),
                     site);
}

}  // namespace tutti
