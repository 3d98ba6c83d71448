// A job whose ranks are on a host each, and its coordinator on one more.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>

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

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    try {
      network_ = std::make_unique<Network>(world + 1);
    } catch (const NoNetwork& e) {
      GTEST_SKIP() << e.what();
    }
    // They are of one kernel, and would share memory.
    ::setenv("TUTTI_SHARED_MEMORY", "0", 1);
  }

  [[nodiscard]] const Network& network() const { return *network_; }

  // body(rank, mesh), on every host: one simulated GPU each, in one dimension.
  [[nodiscard]] Job start(std::chrono::milliseconds dead_after, const std::function<void(int, const Mesh&)>& body) const {
    CoordinatorOptions coordinator;
    coordinator.world = world;
    coordinator.listen = Network::address(coordinator_host) + ":0";
    coordinator.dead_after = dead_after;
    const Visit at(network(), coordinator_host);
    return Job(coordinator, [&](int rank) {
      network().enter(rank);
      simulate_gpus(1);
      join_job({.heartbeat = 50ms, .dead_after = dead_after});
      const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
      barrier(mesh, {.name = "all are here", .timeout = 30s});
      body(rank, mesh);
    });
  }

 private:
  std::unique_ptr<Network> network_;
};

}  // namespace tutti::testing_hosts
