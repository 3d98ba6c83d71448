// What a simulated GPU is made of; read by the sim backend when devices are enumerated and opened.
#pragma once

#include <cstdint>

namespace tutti {

enum class SimulationDriver : std::uint8_t {
  threaded,  // workers of its own: real asynchrony
  stepped,   // one seeded scheduler for the whole process: a schedule that can be replayed
};

struct SimulationOptions {
  std::uint64_t memory_bytes = std::uint64_t{4} << 30U;
  unsigned workers = 2;  // streams of one device that can run at the same time
  SimulationDriver driver = SimulationDriver::threaded;
  std::uint64_t seed = 0;      // of the stepped driver
  bool pinned_copies = false;  // copies only from and to pinned host memory, as a real GPU does; the rest is staged

  friend bool operator==(const SimulationOptions&, const SimulationOptions&) = default;
};

struct Simulation {
  unsigned gpus = 0;
  SimulationOptions options;

  friend bool operator==(const Simulation&, const Simulation&) = default;
};

// Before devices are enumerated; place guards the order.
void set_simulation(const Simulation& simulation);
Simulation simulation();

}  // namespace tutti
