// Collectives over hosts whose links fail: they complete over a link that comes back, and otherwise end for everyone.
#include "tutti/mesh/collectives.h"

#include <gtest/gtest.h>

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "hosts/hosts.h"

namespace tutti {

namespace {

using namespace testing_hosts;

constexpr std::int64_t large = is_sanitized() ? 1 << 20 : 4 << 20;  // elements

class HostsCollectives : public Hosts {
 protected:
  // Until the host has sent so much more: what is summed is on its way.
  void await_traffic(int host, std::uint64_t bytes) const {
    const std::uint64_t before = network().bytes_from(host);
    while (network().bytes_from(host) < before + bytes) ::poll(nullptr, 0, 1);
  }
};

// When the link was cut, on the clock of all processes.
struct Cut {
  std::atomic<Clock::rep> at;

  void is_now() { at = Clock::now().time_since_epoch().count(); }
};

// How the first that does not succeed ends, soon after the cut. One follows another, so that it is in the middle of one.
template <class Failure>
std::string failure_of(const Mesh& mesh, int rank, const Cut& cut, std::chrono::milliseconds longest) {
  for (;;) {
    try {
      (void)summed(mesh, rank, large);
    } catch (const Failure& e) {
      const auto took =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch() - Clock::duration(cut.at.load()));
      require(took <= longest, "it took " + std::to_string(took.count()) + " ms: " + e.what());
      return unfolded(e.what());
    }
  }
}

}  // namespace

TEST_F(HostsCollectives, GoOverTheLinksBetweenTheHostsAndAreRight) {
  Job job = start(not_soon, [&](int rank, const Mesh& mesh) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1'000'001}}) {
      require_sum(summed(mesh, rank, count));
    }
  });
  job.expect_success();
  for (int host = 0; host < world; ++host) EXPECT_GT(network().bytes_from(host), 4'000'000U) << host;
  EXPECT_LT(network().bytes_from(coordinator_host), 1'000'000U);
}

TEST_F(HostsCollectives, EndOnEveryHostWithTheNameOfOneThatWasCutOffInTheMiddle) {
  const Witness<Cut> cut;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    // Who is cut off misses the coordinator first.
    const std::string what = rank == 2 ? failure_of<CoordinatorLost>(mesh, rank, *cut, soon + slack)
                                       : failure_of<MemberLost>(mesh, rank, *cut, soon + slack);
    require_in(what, rank == 2 ? "the coordinator at " + Network::address(coordinator_host) : "rank 2 (host2, pid ");
    require_in(what, "nothing was heard of it for");
    (void)thrown_by<Error>([&] { barrier(mesh, {.timeout = 30s}); }, slack);
    require(item<float>(sum(ones({10}))) == 10, "what needs no other process works on");
  });
  await_traffic(2, 4 * large);
  cut->is_now();
  network().cut(2);
  job.expect_success();
}

TEST_F(HostsCollectives, EndOnEveryHostWhereOneIsCutOffWhileTheyConnect) {
  for (const int milliseconds : {1, 3, 6, 10, 20}) {  // of some tens that it takes
    const Witness<Board> board;
    const Witness<Cut> cut;
    Job job = start(soon, [&](int rank, const Mesh& mesh) {
      board->count.fetch_add(1);
      if (rank == 2) {
        (void)failure_of<CoordinatorLost>(mesh, rank, *cut, soon + 2 * slack);
      } else {
        (void)failure_of<MemberLost>(mesh, rank, *cut, soon + 2 * slack);
      }
    });
    await_at_least(board->count, world);
    ::poll(nullptr, 0, milliseconds);
    cut->is_now();
    network().cut(2);
    job.expect_success();
    network().heal(2);
  }
}

TEST_F(HostsCollectives, CompleteWhenALinkThatWasCutInTheMiddleIsBackInTime) {
  constexpr int times = 6;
  const Witness<Board> board;
  Job job = start(not_soon, [&](int rank, const Mesh& mesh) {
    for (int i = 0; i < times; ++i) {
      require_sum(summed(mesh, rank, large));
      board->count.fetch_add(1);
    }
  });
  await_traffic(2, 4 * large);
  network().cut(2);
  EXPECT_LT(board->count.load(), world * (times - 1)) << "it was cut too late to be in the middle";
  ::poll(nullptr, 0, 400);  // so long is it away
  network().heal(2);
  job.expect_success();
}

TEST_F(HostsCollectives, EndOnEveryHostWhereTwoCannotReachEachOtherAndNameThem) {
  const Witness<Cut> cut;
  const Witness<Board> board;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    // The coordinator hears of all of them, so nobody is lost.
    const std::string what = failure_of<KernelFailed>(mesh, rank, *cut, 4 * soon + 2 * slack);
    const bool is_by_1 = what.find("rank 2 cannot be reached from rank 1: its host has answered nothing for") != what.npos;
    const bool is_by_2 = what.find("rank 1 cannot be reached from rank 2: its host has answered nothing for") != what.npos;
    require(is_by_1 || is_by_2, what);
    barrier(mesh, {.timeout = 30s});
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);
    // Connections are made anew, by all of them.
    for (int i = 0; i < 2; ++i) require_sum(summed(mesh, rank, 1000));
  });
  await_traffic(2, 4 * large);
  cut->is_now();
  network().cut(1, 2);
  await_at_least(board->count, world);
  network().heal(1, 2);
  board->stage = 1;
  job.expect_success();
}

TEST_F(HostsCollectives, EndOnEveryHostWhereTwoCannotConnectToEachOtherAndNameThem) {
  const Witness<Cut> cut;
  const Witness<Board> board;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    board->count.fetch_add(1);
    await_at_least(board->stage, 1);
    const std::string what =
        failure_of<KernelFailed>(mesh, rank, *cut, std::max<std::chrono::milliseconds>(4s, 3 * soon) + 2 * slack);
    require_in(what, "was not connected in time to rank");
    board->count.fetch_add(1);
    await_at_least(board->stage, 2);
    require_sum(summed(mesh, rank, 1000));
  });
  await_at_least(board->count, world);
  cut->is_now();
  network().cut(1, 2);
  board->stage = 1;
  await_at_least(board->count, 2 * world);
  network().heal(1, 2);
  board->stage = 2;
  job.expect_success();
}

TEST_F(HostsCollectives, EndOnEveryHostWhenTheCoordinatorsIsCutOff) {
  const Witness<Cut> cut;
  Job job = start(soon, [&](int rank, const Mesh& mesh) {
    const std::string what = failure_of<CoordinatorLost>(mesh, rank, *cut, soon + slack);
    require_in(what, "the coordinator at " + Network::address(coordinator_host));
  });
  await_traffic(2, 4 * large);
  cut->is_now();
  network().cut(coordinator_host);
  job.expect_success();
}

}  // namespace tutti
