// Hosts of a test's own: network namespaces without names, joined by a relay. The machine's own network knows nothing of them,
// and the kernel takes them away with the processes in them, however those end.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hosts/relay.h"

namespace tutti::testing_hosts {

// Not here: no root, no TUN devices, or a container in which no namespace can be made.
struct NoNetwork : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Network {
 public:
  // Throws NoNetwork. The seed is that of the packets that get lost.
  explicit Network(int hosts, std::uint64_t seed = 1);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] static std::string address(int host);

  // From now on this process is on that host, and so is what it forks.
  void enter(int host) const;

  // Pulls the host's cable, and puts it back.
  void cut(int host) const;
  void heal(int host) const;
  // Keeps what goes to and from the host, and lets it go on.
  void pause(int host) const;
  void resume(int host) const;
  // Only between these two.
  void cut(int host, int other) const { set_cut(host, other, true); }
  void heal(int host, int other) const { set_cut(host, other, false); }
  // What the way between the host and every other does to packets, in each direction.
  void set_ways(int host, const Way& way) const;
  // What has come from the host.
  [[nodiscard]] std::uint64_t bytes_from(int host) const { return relay_->bytes_from(host); }

 private:
  friend class Visit;

  void set_cut(int host, int other, bool is_cut) const;
  void set_paused(int host, bool is_paused) const;
  [[nodiscard]] int count() const { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] int namespace_of(int host) const { return hosts_.at(static_cast<std::size_t>(host)); }

  int home_ = -1;
  std::vector<int> hosts_;
  std::unique_ptr<Relay> relay_;
};

// This thread is on a host for as long as this lives.
class Visit {
 public:
  Visit(const Network& network, int host);
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  int home_;
};

}  // namespace tutti::testing_hosts
