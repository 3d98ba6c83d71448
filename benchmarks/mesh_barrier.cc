// What a meeting of n processes through the coordinator costs: each process comes and waits, back to back; times are rank 0's.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/mesh/control/coordinator.h"
#include "tutti/mesh/control/member.h"
#include "versus.h"

namespace {

using namespace tutti;

Membership membership(int rank, int world, const std::string& address) {
  Membership who;
  who.rank = rank;
  who.world = world;
  who.coordinator = address;
  who.job = "benchmark";
  who.secret = "benchmark";
  return who;
}

constexpr int rounds = 3'000;

void take_part(int rank, int world, const std::string& address, int times_to) {
  const auto member = Member::join(membership(rank, world, address), {});
  Meeting meeting;
  meeting.group = "world";
  for (int other = 0; other < world; ++other) meeting.ranks.push_back(other);
  meeting.what = "barrier 'benchmark'";
  std::vector<double> times;
  for (int round = -rounds / 10; round < rounds; ++round) {
    const Nanoseconds begin = now();
    member->arrive(meeting)->wait();
    if (round >= 0) times.push_back(static_cast<double>(now() - begin));
  }
  const std::size_t bytes = times.size() * sizeof(double);
  if (rank == 0 && write(times_to, times.data(), bytes) != static_cast<ssize_t>(bytes)) throw std::runtime_error("no pipe");
}

template <class Work>
pid_t in_process(const Work& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

std::vector<double> measure(int world) {
  CoordinatorOptions options;
  options.world = world;
  options.job = "benchmark";
  options.secret = "benchmark";
  options.linger = std::chrono::milliseconds(0);
  auto coordinator = Coordinator::open(options);
  const std::string address = coordinator->address();
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::vector<pid_t> children{in_process([&] { coordinator->serve(); })};
  coordinator.reset();
  for (int rank = 0; rank < world; ++rank) children.push_back(in_process([&] { take_part(rank, world, address, ends[1]); }));
  close(ends[1]);
  std::vector<double> times(rounds);
  const std::size_t bytes = times.size() * sizeof(double);
  std::size_t got = 0;
  for (ssize_t part = 1; part > 0 && got < bytes; got += static_cast<std::size_t>(part)) {
    part = read(ends[0], reinterpret_cast<char*>(times.data()) + got, bytes - got);
  }
  close(ends[0]);
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("a process failed");
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("mesh_barrier");
  bench::Report::heading("");
  for (const auto& [world, target] : {std::pair(2, 100e3), std::pair(4, 120e3), std::pair(8, 200e3)}) {
    report.absolute("meeting through sockets, " + std::to_string(world) + " processes", target, measure(world));
  }
  if (argc == 3 && std::string(argv[1]) == "--json") report.write(argv[2]);
  return 0;
}
