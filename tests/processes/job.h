// A job of a test's own: a coordinator and so many ranks, each a process, reaped whatever happens.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engines/processes.h"
#include "tutti/mesh/control/coordinator.h"
#include "tutti/tutti.h"

namespace tutti::testing_processes {

using namespace std::chrono_literals;
using testing_engines::is_sanitized;
using testing_engines::require;
using testing_engines::Witness;

// "Within the deadline and a second", and what a slow machine needs to say so.
inline constexpr std::chrono::milliseconds slack = is_sanitized() ? 5s : 1s;

// Forks, so nothing of the runtime may be in use yet. The ranks find the job in their environment, as from a launcher.
class Job {
 public:
  // What is left out keeps its rank but is never started.
  Job(int world, const std::function<void(int rank)>& body, const std::vector<int>& left_out = {});
  // With a coordinator that is not as usual; its job and secret are the test's.
  Job(CoordinatorOptions coordinator, const std::function<void(int rank)>& body, const std::vector<int>& left_out = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void signal(int rank, int signal) const;
  void signal_coordinator(int signal) const;
  // Its exit status, -signal, or 1000 where it did not end in time.
  int status(int rank, std::chrono::milliseconds longest = 60s);
  void expect_success();
  // Another process under the rank of one whose status is known.
  void start(int rank);

 private:
  std::function<void(int rank)> body_;
  std::vector<pid_t> ranks_;
  pid_t coordinator_ = 0;
};

// What the processes of a test show each other, zero at first.
struct Board {
  std::atomic<int> count;
  std::atomic<int> stage;
  std::atomic<int> others[8];
};

// Until another process says so. Looks now and then: the processes have nothing else in common.
void await_at_least(const std::atomic<int>& value, int wanted);

// On one line: where a report folds depends on how long paths are.
std::string unfolded(const std::string& text);

// What a call throws, unfolded; it must come soon enough.
template <class Failure, class Call>
std::string thrown_by(Call&& call, std::chrono::milliseconds longest) {
  const auto begin = Clock::now();
  try {
    call();
  } catch (const Failure& e) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    if (took > longest) throw std::runtime_error("it took " + std::to_string(took.count()) + " ms: " + e.what());
    return unfolded(e.what());
  }
  throw std::runtime_error("nothing was thrown");
}

inline void require_in(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "'" + part + "' is not in: " + text);
}
inline void require_not_in(const std::string& text, const std::string& part) {
  require(text.find(part) == std::string::npos, "'" + part + "' is in: " + text);
}

}  // namespace tutti::testing_processes
