// Hosts of a test's own: network namespaces without names, joined by a bridge in one more. The machine's own network knows
// nothing of them, and the kernel takes them away with the processes in them, however those end.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::testing_hosts {

// Not here: no root, no `ip`, or a container in which no namespace can be made.
struct NoNetwork : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Network {
 public:
  // Throws NoNetwork.
  explicit Network(int hosts);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] static std::string address(int host);

  // From now on this process is on that host, and so is what it forks.
  void enter(int host) const;

  // Pulls the host's cable at the bridge, and puts it back.
  void cut(int host) const { set_port(host, false); }
  void heal(int host) const { set_port(host, true); }
  // What has come from the host at the bridge.
  [[nodiscard]] std::uint64_t bytes_from(int host) const;

 private:
  friend class Visit;

  void make_bridge() const;
  void make_host(int host) const;
  void set_port(int host, bool is_up) const;
  [[nodiscard]] int namespace_of(int host) const { return hosts_.at(static_cast<std::size_t>(host)); }

  int home_ = -1;
  int bridge_ = -1;
  std::vector<int> hosts_;
  int ports_ = -1;  // a socket, for what is asked of the bridge's ports
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
