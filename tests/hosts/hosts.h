// A job whose ranks are on a host each, and its coordinator on one more.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "hosts/network.h"
#include "processes/job.h"
#include "tutti/mesh/control/coordinator.h"
#include "tutti/tutti.h"

namespace tutti::testing_hosts {

using namespace testing_processes;

inline constexpr int world = 3;
inline constexpr int coordinator_host = world;
// Silence for so long is a death; or so long that no test waits for it.
inline constexpr std::chrono::milliseconds soon = is_sanitized() ? 5s : 1500ms;
inline constexpr std::chrono::milliseconds not_soon = 30s;

// How long a link is away.
inline void let_pass(std::chrono::milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

// What every rank gives to the sum, and whether it is right.
inline std::vector<float> summed(const Mesh& mesh, int rank, std::int64_t count) {
  const Tensor mine = add(cast(arange(count), DType::f32), static_cast<float>(rank));
  return read<float>(all_reduce({mine}, mesh, "x", Reduction::sum)[0]);
}
inline void require_sum(const std::vector<float>& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const float wanted = static_cast<float>(world * i + 3);  // 0 + 1 + 2; exact below 2^24
    if (sum[i] != wanted) throw std::runtime_error("element " + std::to_string(i) + " is " + std::to_string(sum[i]));
  }
}

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    // Of the packets that get lost. TUTTI_TEST_SEED repeats it.
    const char* const given = std::getenv("TUTTI_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::cout << "TUTTI_TEST_SEED=" << seed << std::endl;
    try {
      network_ = std::make_unique<Network>(world + 1, seed);
    } catch (const NoNetwork& e) {
      GTEST_SKIP() << e.what();
    }
    // They are of one kernel, and would share memory.
    ::setenv("TUTTI_SHARED_MEMORY", "0", 1);
  }

  [[nodiscard]] const Network& network() const { return *network_; }

  // body(rank, mesh), on every host: one simulated GPU each, in one dimension.
  [[nodiscard]] Job start(std::chrono::milliseconds dead_after, const std::function<void(int, const Mesh&)>& body) const {
    return start_unmet(dead_after, [body](int rank, const Mesh& mesh) {
      barrier(mesh, {.name = "all are here", .timeout = 30s});
      body(rank, mesh);
    });
  }

  // They have not met yet; what is left out is never started.
  [[nodiscard]] Job start_unmet(std::chrono::milliseconds dead_after, const std::function<void(int, const Mesh&)>& body,
                                const std::vector<int>& left_out = {}) const {
    CoordinatorOptions coordinator;
    coordinator.world = world;
    coordinator.listen = Network::address(coordinator_host) + ":0";
    coordinator.dead_after = dead_after;
    const Visit at(network(), coordinator_host);
    return Job(
        coordinator,
        [this, dead_after, body](int rank) {  // lives as long as the job: a rank may be started again
          network().enter(rank);
          simulate_gpus(1);
          join_job({.heartbeat = 50ms, .dead_after = dead_after});
          body(rank, create_distributed_mesh({{"x", -1}}, {"GPU:0"}));
        },
        left_out);
  }

  // From every host to every other and back; each packet may be lost.
  void set_round_trip(std::chrono::milliseconds time, double loss = 0) const {
    for (int host = 0; host <= world; ++host) network().set_ways(host, {.delay = time / 2, .loss = loss});
  }

 private:
  std::unique_ptr<Network> network_;
};

}  // namespace tutti::testing_hosts
