// The cables between hosts, in user space, because not every kernel has netem: a process that carries the packets of TUN devices
// from one to another, later, not at all, or when it is allowed to again.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engines/processes.h"

namespace tutti::testing_hosts {

// What the way from one host to another does to a packet.
struct Way {
  std::chrono::microseconds delay{0};
  double loss = 0;  // of all packets
};

class Relay {
 public:
  static constexpr int most_hosts = 16;

  // `devices`: of every host its TUN device, whose address ends in the host's number + 1; they are closed here. What is lost is
  // drawn from the seed.
  Relay(std::vector<int> devices, std::uint64_t seed);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void set_way(int from, int to, const Way& way) const;
  void set_cut(int from, int to, bool is_cut) const;        // a packet that comes is gone
  void set_paused(int from, int to, bool is_paused) const;  // packets wait, in order
  [[nodiscard]] std::uint64_t bytes_from(int host) const;

 private:
  struct Rules {
    std::atomic<std::int64_t> delay;  // microseconds
    std::atomic<std::uint32_t> loss;  // in a million
    std::atomic<bool> is_cut;
    std::atomic<bool> is_paused;
  };
  struct Table {
    Rules ways[most_hosts][most_hosts];
    std::atomic<std::uint64_t> bytes[most_hosts];
  };
  class Carrier;

  void wake() const;

  testing_engines::Witness<Table> table_;
  int woken_ = -1;  // an eventfd: rules have changed
  pid_t process_ = 0;
};

}  // namespace tutti::testing_hosts
