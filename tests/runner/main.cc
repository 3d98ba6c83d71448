// The main() of every test program: each test has a process of its own, because the runtime's configuration is frozen by first
// use. The processes are forked from one that has loaded everything and started nothing, which takes a hundredth of a new start.
// A test that is chosen alone runs in the program itself, for debuggers.
//   GTEST_TOTAL_SHARDS, GTEST_SHARD_INDEX: a part of the tests, as GoogleTest means them.
//   TUTTI_TEST_SECONDS: how long one test may take (120).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int skipped_code = 77;

// Written by the child at its end, so that a test that leaves by exit(0) half-way has not passed.
enum class Stage : int { running, passed, skipped };

[[noreturn]] void give_up(const char* call) {
  std::fprintf(stderr, "%s: %s\n", call, std::strerror(errno));
  std::exit(2);
}

// GoogleTest decides which tests its flags choose when it is asked to list them.
std::vector<std::string> chosen_tests() {
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (kept < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) give_up("redirecting the list of tests");
  GTEST_FLAG_SET(list_tests, true);
  if (RUN_ALL_TESTS() != 0) std::exit(2);
  GTEST_FLAG_SET(list_tests, false);
  std::fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(nowhere);
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (test.should_run()) names.push_back(std::string(suite.name()) + '.' + test.name());
    }
  }
  return names;
}

bool was_skipped() {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  return all.skipped_test_count() != 0 && all.failed_test_count() == 0;
}

[[noreturn]] void run_in_child(const std::string& name, int output, Stage& stage) {
  setpgid(0, 0);  // with whatever it starts, so that all of it can be ended
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) give_up("dup2");
  unsetenv("GTEST_TOTAL_SHARDS");
  unsetenv("GTEST_SHARD_INDEX");
  unsetenv("GTEST_SHARD_STATUS_FILE");
  GTEST_FLAG_SET(filter, name);
  const int code = RUN_ALL_TESTS();
  if (code == 0) stage = was_skipped() ? Stage::skipped : Stage::passed;
  std::exit(code);
}

std::string contents(int file) {
  std::string out(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t got = pread(file, out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

volatile std::sig_atomic_t child = 0;

void end_with_child(int signal) {
  if (child != 0) kill(-child, SIGKILL);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Outcome {
  Stage stage;
  std::string why;  // where it failed
  std::string output;
  long milliseconds;
};

Outcome run_apart(const std::string& name, Stage& stage, std::chrono::seconds limit) {
  stage = Stage::running;
  const int output = memfd_create("output", MFD_CLOEXEC);
  if (output < 0) give_up("memfd_create");
  std::fflush(nullptr);
  const Clock::time_point start = Clock::now();
  const pid_t pid = fork();
  if (pid < 0) give_up("fork");
  if (pid == 0) run_in_child(name, output, stage);
  setpgid(pid, pid);  // here too: whoever comes first
  child = pid;
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (ended < 0) give_up("pidfd_open");
  pollfd wanted{ended, POLLIN, 0};
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(start + limit - Clock::now());
    ready = poll(&wanted, 1, left.count() < 0 ? 0 : static_cast<int>(left.count()));
  } while (ready < 0 && errno == EINTR);
  close(ended);
  if (ready == 0) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  child = 0;
  Outcome outcome{stage, {}, contents(output), 0};
  outcome.milliseconds = static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  close(output);
  if (ready == 0) {
    outcome.why = "not done after " + std::to_string(limit.count()) + " s";
  } else if (WIFSIGNALED(status)) {
    outcome.why = std::string("ended by ") + strsignal(WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    outcome.why = "exit status " + std::to_string(WEXITSTATUS(status));
  } else if (stage == Stage::running) {
    outcome.why = "left before its end";
  }
  return outcome;
}

int run_each_apart(const std::vector<std::string>& tests) {
  const char* seconds = std::getenv("TUTTI_TEST_SECONDS");
  const std::chrono::seconds limit(seconds != nullptr ? std::atol(seconds) : 120);
  void* shared = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) give_up("mmap");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, end_with_child);
  std::vector<std::string> failed;
  std::size_t skipped = 0;
  for (const std::string& name : tests) {
    const Outcome outcome = run_apart(name, *static_cast<Stage*>(shared), limit);
    const char* mark = "[       OK ]";
    if (!outcome.why.empty()) {
      failed.push_back(name);
      std::printf("%s\n(%s)\n", outcome.output.c_str(), outcome.why.c_str());
      mark = "[  FAILED  ]";
    } else if (outcome.stage == Stage::skipped) {
      ++skipped;
      mark = "[  SKIPPED ]";
    }
    std::printf("%s %s (%ld ms)\n", mark, name.c_str(), outcome.milliseconds);
    std::fflush(stdout);
  }
  for (const std::string& name : failed) std::printf("failed: %s\n", name.c_str());
  std::printf("%zu passed, %zu failed, %zu skipped\n", tests.size() - failed.size() - skipped, failed.size(), skipped);
  if (!failed.empty()) return 1;
  return !tests.empty() && skipped == tests.size() ? skipped_code : 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_part_of_test = false;  // a death test has started this program again
  for (int i = 1; i < argc; ++i) is_part_of_test |= std::strstr(argv[i], "gtest_internal_run_death_test") != nullptr;
  testing::InitGoogleMock(&argc, argv);
  if (GTEST_FLAG_GET(list_tests) || is_part_of_test) return RUN_ALL_TESTS();
  const std::vector<std::string> tests = chosen_tests();
  return tests.size() == 1 ? RUN_ALL_TESTS() : run_each_apart(tests);
}
