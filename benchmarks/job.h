// A job of several processes, forked from the benchmark, with a coordinator in one of its own. What rank 0 measured comes back.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tutti/mesh/control/coordinator.h"

namespace bench {

inline constexpr const char* job_name = "benchmark";
inline constexpr const char* job_secret = "a secret of benchmarks";

template <class Work>
pid_t in_process(const Work& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

inline void say(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

// body(rank, the coordinator's address) gives numbers, those of rank 0 are the result. Each rank finds the job in its
// environment, as from a launcher. Forks: nothing of the runtime may be in use yet.
template <class Body>
std::vector<double> in_job(int world, const Body& body) {
  tutti::CoordinatorOptions options;
  options.world = world;
  options.job = job_name;
  options.secret = job_secret;
  options.linger = std::chrono::milliseconds(0);
  auto coordinator = tutti::Coordinator::open(options);
  const std::string address = coordinator->address();
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(stdout);
  std::vector<pid_t> children{in_process([&] { coordinator->serve(); })};
  coordinator.reset();
  for (int rank = 0; rank < world; ++rank) {
    children.push_back(in_process([&] {
      say("TUTTI_WORLD_SIZE", std::to_string(world));
      say("TUTTI_COORDINATOR", address);
      say("TUTTI_JOB_ID", job_name);
      say("TUTTI_JOB_SECRET", job_secret);
      say("TUTTI_RANK", std::to_string(rank));
      say("TUTTI_LOCAL_RANK", std::to_string(rank));
      const std::vector<double> measured = body(rank, address);
      const std::size_t bytes = measured.size() * sizeof(double);
      if (rank == 0 && ::write(ends[1], measured.data(), bytes) != static_cast<ssize_t>(bytes))
        throw std::runtime_error("no pipe");
    }));
  }
  ::close(ends[1]);
  std::vector<double> measured;
  for (double value = 0; ::read(ends[0], &value, sizeof value) == sizeof value;) measured.push_back(value);
  ::close(ends[0]);
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("a process failed");
  }
  return measured;
}

}  // namespace bench
