// A process that takes the rank of one whose host was cut off, or that died there, is a member like the others.
#include <gtest/gtest.h>

#include "hosts/hosts.h"
#include "processes/restarts.h"

namespace tutti {

namespace {

using namespace testing_hosts;

class HostsRestarted : public Hosts {
 protected:
  [[nodiscard]] Job start_steps(Rounds& rounds) const {
    static_assert(Rounds::world == world);
    return start_unmet(soon, [&](int rank, const Mesh& mesh) { step_until_the_last(rounds, rank, mesh); });
  }
  static constexpr int times = is_sanitized() ? 2 : 4;
};

}  // namespace

TEST_F(HostsRestarted, MeetsAndExchangesWithTheOthersAgainAndAgain) {
  set_round_trip(4ms);
  const Witness<Rounds> rounds;
  Job job = start_steps(*rounds);
  kill_and_start_again(job, *rounds, times);
}

TEST_F(HostsRestarted, TakesTheRankOfOneThatWasCutOff) {
  const Witness<Rounds> rounds;
  Job job = start_steps(*rounds);
  kill_and_start_again(job, *rounds, times / 2, [&](int victim) {
    const int other = (victim + 1) % world;
    const int before = rounds->failures[other];
    network().cut(victim);
    await_at_least(rounds->failures[other], before + 1);
    network().heal(victim);
  });
}

}  // namespace tutti
