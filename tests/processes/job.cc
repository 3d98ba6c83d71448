#include "processes/job.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

namespace tutti::testing_processes {

namespace {

// Ends as a program does, with what it does at its end.
template <class Body>
pid_t forked(Body&& body) {
  const pid_t parent = ::getpid();
  std::cout.flush();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  int status = 0;
  try {
    body();
  } catch (const std::exception& e) {
    std::cerr << "process " << ::getpid() << ": " << e.what() << std::endl;
    status = 1;
  }
  std::exit(status);
}

void say(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

CoordinatorOptions usual(int world) {
  CoordinatorOptions options;
  options.world = world;
  return options;
}

}  // namespace

Job::Job(int world, const std::function<void(int rank)>& body, const std::vector<int>& left_out)
    : Job(usual(world), body, left_out) {}

Job::Job(CoordinatorOptions options, const std::function<void(int rank)>& body, const std::vector<int>& left_out)
    : body_(body), ranks_(static_cast<std::size_t>(options.world)) {
  const int world = options.world;
  options.job = "job of a test";
  options.secret = "a secret of a test, and no more";
  const std::unique_ptr<Coordinator> coordinator = Coordinator::open(options);
  coordinator_ = forked([&] { coordinator->serve(); });
  say("TUTTI_WORLD_SIZE", std::to_string(world));
  say("TUTTI_COORDINATOR", coordinator->address());
  say("TUTTI_JOB_ID", options.job);
  say("TUTTI_JOB_SECRET", options.secret);
  for (int rank = 0; rank < world; ++rank) {
    if (std::find(left_out.begin(), left_out.end(), rank) == left_out.end()) start(rank);
  }
}

void Job::start(int rank) {
  say("TUTTI_RANK", std::to_string(rank));
  say("TUTTI_LOCAL_RANK", std::to_string(rank));
  ranks_.at(static_cast<std::size_t>(rank)) = forked([&] { body_(rank); });
}

Job::~Job() {
  ranks_.push_back(coordinator_);
  for (const pid_t pid : ranks_) {
    if (pid <= 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void Job::signal(int rank, int signal) const { ::kill(ranks_.at(static_cast<std::size_t>(rank)), signal); }

void Job::signal_coordinator(int signal) const { ::kill(coordinator_, signal); }

int Job::status(int rank, std::chrono::milliseconds longest) {
  return testing_engines::status_of(ranks_.at(static_cast<std::size_t>(rank)), longest);
}

void Job::expect_success() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (ranks_[static_cast<std::size_t>(rank)] <= 0) continue;
    EXPECT_EQ(status(rank), 0) << "rank " << rank;
  }
}

std::string unfolded(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

void await_at_least(const std::atomic<int>& value, int wanted) {
  while (value.load() < wanted) std::this_thread::yield();
}

}  // namespace tutti::testing_processes
