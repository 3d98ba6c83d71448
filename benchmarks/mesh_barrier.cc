// What a meeting of n processes through the coordinator costs: each process comes and waits, back to back; times are rank 0's.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "job.h"
#include "tutti/base/clock.h"
#include "tutti/mesh/control/member.h"
#include "versus.h"

namespace {

using namespace tutti;

Membership membership(int rank, int world, const std::string& address) {
  Membership who;
  who.rank = rank;
  who.world = world;
  who.coordinator = address;
  who.job = bench::job_name;
  who.secret = bench::job_secret;
  return who;
}

std::vector<double> take_part(int rank, int world, const std::string& address, int rounds) {
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
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  const int rounds = options.calls(3'000);
  bench::Report report("mesh_barrier");
  bench::Report::heading("");
  for (const auto& [world, target] : {std::pair(2, 100e3), std::pair(4, 120e3), std::pair(8, 200e3)}) {
    report.absolute(
        "meeting through sockets, " + std::to_string(world) + " processes", target,
        bench::in_job(world, [&](int rank, const std::string& address) { return take_part(rank, world, address, rounds); }));
  }
  report.write(options.json());
}
