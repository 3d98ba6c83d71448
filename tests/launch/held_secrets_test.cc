// The secret of a job is not in the memory of the processes of ours that need it no more: read as a debugger would.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "launch/started_coordinators.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/coordinator_child.h"
#include "tutti/mesh/control/member.h"

// A sanitizer keeps what is freed for a while, to find who still uses it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_SANITIZERS() GTEST_SKIP() << "a program under a sanitizer does not give back what it frees"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKIP_UNDER_SANITIZERS() GTEST_SKIP() << "a program under a sanitizer does not give back what it frees"
#endif
#endif
#ifndef SKIP_UNDER_SANITIZERS
#define SKIP_UNDER_SANITIZERS() static_cast<void>(0)
#endif

namespace launch_tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

constexpr const char* secret = "e60f9b27c41da835 of a job held by few";
// Of addresses alone: what a sanitizer keeps for itself.
constexpr std::size_t largest_area = std::size_t{1} << 30U;

struct Area {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name;
};

// What a process can have written to: heap, stack with the environment, variables, and mappings without a file.
std::vector<Area> written_areas(pid_t pid) {
  std::vector<Area> out;
  std::ifstream maps(tutti::text("/proc/", pid, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Area area;
    char dash = 0;
    std::string access;
    std::string offset;
    std::string device;
    std::string file;
    words >> std::hex >> area.begin >> dash >> area.end >> access >> offset >> device >> file;
    std::getline(words >> std::ws, area.name);
    if (area.name.empty()) area.name = "a mapping without a name";
    if (access.starts_with("rw") && area.end - area.begin <= largest_area) out.push_back(area);
  }
  return out;
}

// Where either half is: who frees a string overwrites its beginning, and who lets one grow leaves a part. Nothing: it may not be
// read, and errno says why.
std::optional<std::vector<std::string>> traces_of(std::string_view text, pid_t pid) {
  const int memory = ::open(tutti::text("/proc/", pid, "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return std::nullopt;
  const std::array<std::string_view, 2> halves{text.substr(0, text.size() / 2), text.substr(text.size() / 2)};
  std::vector<std::string> out;
  for (const Area& area : written_areas(pid)) {
    std::string bytes(area.end - area.begin, '\0');
    const ssize_t count = ::pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(area.begin));
    bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    for (const std::string_view half : halves) {
      for (std::size_t at = bytes.find(half); at != std::string::npos; at = bytes.find(half, at + 1)) {
        out.push_back(tutti::text(half == halves[0] ? "first" : "second", " half in ", area.name, " at ", area.begin + at));
      }
    }
  }
  ::close(memory);
  return out;
}

// `tutti` with these words, until this object goes.
class Running {
 public:
  explicit Running(std::vector<std::string> words) {
    words.insert(words.begin(), tutti::find_command());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    const pid_t test = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != test) ::_exit(1);
      ::dup2(ends[1], STDOUT_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(output_);
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::string line() const {
    std::string out;
    for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) out += c;
    return out;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// What a rank leaves in a file when all is begun.
std::string told_in(const std::filesystem::path& file) {
  for (const auto end = std::chrono::steady_clock::now() + seconds(60); std::chrono::steady_clock::now() < end;) {
    if (std::filesystem::exists(file)) return bytes_of(file);
    std::this_thread::sleep_for(milliseconds(10));
  }
  return "";
}

tutti::Membership who(const std::string& address) {
  tutti::Membership who;
  who.world = 1;
  who.coordinator = address;
  who.job = "of secrets";
  who.secret = secret;
  return who;
}

#define READ_OR_SKIP(traces) \
  if (!(traces)) GTEST_SKIP() << "the memory of the process may not be read: " << std::strerror(errno)

TEST(AHeldSecret, IsFoundWhereItIs) {
  const std::string held = secret;
  const auto traces = traces_of(held, ::getpid());
  READ_OR_SKIP(traces);
  EXPECT_THAT(*traces, Contains(HasSubstr("first half")));
  EXPECT_THAT(*traces, Contains(HasSubstr("second half")));
}

TEST(AHeldSecret, IsNowhereInACoordinatorThatServesNeitherOnItsHeapNorInItsEnvironment) {
  SKIP_UNDER_SANITIZERS();
  JobFolder jobs;
  jobs.environment().set("TUTTI_JOB_SECRET", secret);
  const Running coordinator({"coordinator", "--world", "1", "--job", "of secrets"});
  const std::string address = coordinator.line();
  const auto traces = traces_of(secret, coordinator.pid());
  READ_OR_SKIP(traces);
  EXPECT_THAT(*traces, IsEmpty());
  const auto member = tutti::Member::join(who(address), {});
  EXPECT_THAT(traces_of(secret, coordinator.pid()).value(), IsEmpty()) << "while somebody who has proven it is there";
}

TEST(AHeldSecret, IsNowhereInACoordinatorThatRank0Started) {
  SKIP_UNDER_SANITIZERS();
  const JobFolder jobs;
  tutti::CoordinatorChild child;
  child.job = "of secrets";
  child.secret = secret;
  child.job_file = (jobs.path() / "note").string();
  const auto member = tutti::Member::join(who(start_coordinator(child, tutti::deadline_after(seconds(60)))), {});
  ASSERT_EQ(jobs.coordinators().size(), 1U);
  const auto traces = traces_of(secret, jobs.coordinators()[0]);
  READ_OR_SKIP(traces);
  EXPECT_THAT(*traces, IsEmpty());
}

// Two ranks that have met, so that the launcher has started all it will.
class LaunchedRanks {
 public:
  [[nodiscard]] pid_t launcher() const noexcept { return launcher_.pid(); }
  // What a rank was given, and the number of its parent, which is its guard.
  [[nodiscard]] std::pair<std::string, pid_t> told_by(int rank) const {
    std::istringstream words(told_in(jobs_.path() / tutti::text("told", rank)));
    std::pair<std::string, pid_t> out;
    words >> out.first >> out.second;
    return out;
  }

 private:
  // Into a file: what a rank prints goes through the memory of the launcher.
  static constexpr const char* script =
      R"("$0" barrier && echo "$TUTTI_JOB_SECRET $PPID" >"$1/new$TUTTI_RANK" && mv "$1/new$TUTTI_RANK" "$1/told$TUTTI_RANK"
         exec sleep 333)";
  JobFolder jobs_;
  Running launcher_{{"launch", "-n", "2", "--", "sh", "-c", script, tutti::find_command(), jobs_.path().string()}};
};

TEST(AHeldSecret, IsNowhereInALauncherOnceItsRanksRun) {
  SKIP_UNDER_SANITIZERS();
  const LaunchedRanks ranks;
  const std::string made = ranks.told_by(0).first;
  ASSERT_EQ(made.size(), 32U);
  ASSERT_EQ(ranks.told_by(1).first, made);
  const auto traces = traces_of(made, ranks.launcher());
  READ_OR_SKIP(traces);
  EXPECT_THAT(*traces, IsEmpty());
  std::string bytes;  // of which its digits were made
  for (std::size_t i = 0; i < made.size(); i += 2) bytes += static_cast<char>(std::stoi(made.substr(i, 2), nullptr, 16));
  EXPECT_THAT(traces_of(bytes, ranks.launcher()).value(), IsEmpty());
}

TEST(AHeldSecret, IsAtMostTwiceInTheGuardOfARank) {
  SKIP_UNDER_SANITIZERS();
  const LaunchedRanks ranks;
  for (const int rank : {0, 1}) {
    const auto [made, guard] = ranks.told_by(rank);
    ASSERT_EQ(made.size(), 32U);
    const auto traces = traces_of(made, guard);
    READ_OR_SKIP(traces);
    EXPECT_THAT(*traces, SizeIs(Le(2U * 2U))) << "halves";
  }
}

}  // namespace
}  // namespace launch_tests
