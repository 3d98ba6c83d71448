// The coordinators a test has started, which outlive whoever starts them: found by the job's file in their command line.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "launch/launcher_environment.h"
#include "launch/temporary_folder.h"

namespace launch_tests {

// Of a process's file; nothing where the process has gone.
inline std::string bytes_of(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string out(1U << 16U, '\0');
  const ssize_t count = ::read(file, out.data(), out.size());
  ::close(file);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return out;
}

// A folder for job files; the coordinators of jobs in it end with it.
class JobFolder {
 public:
  JobFolder() { environment_.set("XDG_RUNTIME_DIR", folder_.path().c_str()); }
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder() {
    for (const pid_t pid : coordinators()) ::kill(pid, SIGKILL);
  }

  [[nodiscard]] std::vector<pid_t> coordinators() const {
    std::vector<pid_t> out;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      pid_t pid = 0;
      if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
      const std::string words = bytes_of(entry.path() / "cmdline");
      const bool is_ours = words.find(folder_.path().string()) != std::string::npos;
      if (is_ours && words.find(std::string("\0coordinator\0", 13)) != std::string::npos) out.push_back(pid);
    }
    return out;
  }

  [[nodiscard]] bool all_end_within(std::chrono::seconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!coordinators().empty() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return coordinators().empty();
  }

  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(folder_.path()); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }
  LauncherEnvironment& environment() noexcept { return environment_; }

 private:
  TemporaryFolder folder_;
  LauncherEnvironment environment_{};
};

}  // namespace launch_tests
