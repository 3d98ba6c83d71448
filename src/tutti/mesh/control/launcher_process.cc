#include "tutti/mesh/control/launcher_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "tutti/base/text.h"

namespace tutti {

namespace {

struct ProcessStatus {
  int parent = 0;
  std::string began;
};

// Nothing where it is not for this user, or the process has gone, even in the middle: a stream of the library's would throw then.
std::optional<std::string> read_all(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string out;
  std::array<char, 4096> bytes{};
  ssize_t count = 0;
  while ((count = ::read(file, bytes.data(), bytes.size())) > 0) out.append(bytes.data(), static_cast<std::size_t>(count));
  ::close(file);
  if (count < 0) return std::nullopt;
  return out;
}

// Field 4 and field 22 of /proc/<pid>/stat; the name, field 2, may hold spaces and brackets.
std::optional<ProcessStatus> status_of(int pid) {
  const auto stat = read_all(text("/proc/", pid, "/stat"));
  if (!stat) return std::nullopt;
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(*stat).substr(name_end + 1);
  ProcessStatus status;
  for (int field = 2; !rest.empty(); ++field) {
    const std::size_t space = rest.find(' ');
    const std::string_view word = rest.substr(0, space);
    if (field == 4) std::from_chars(word.data(), word.data() + word.size(), status.parent);
    if (field == 22) {
      status.began = word;
      return status;
    }
    if (space == std::string_view::npos) break;
    rest.remove_prefix(space + 1);
  }
  return std::nullopt;
}

bool has_variable(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > variable.size() && entry.starts_with(variable) && entry[variable.size()] == '=') return true;
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return false;
}

}  // namespace

std::optional<std::string> launcher_process(const char* variable) {
  static constexpr int farthest = 64;
  int pid = ::getppid();
  for (int i = 0; i < farthest && pid > 0; ++i) {
    const auto status = status_of(pid);
    if (!status) return std::nullopt;
    // An environment that is not for this user to see belongs to the launcher, or to what started that.
    const auto environment = read_all(text("/proc/", pid, "/environ"));
    if (!environment || !has_variable(*environment, variable)) return text(pid, ".", status->began);
    pid = status->parent;
  }
  return std::nullopt;
}

}  // namespace tutti
