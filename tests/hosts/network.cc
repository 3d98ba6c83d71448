#include "hosts/network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>

namespace tutti::testing_hosts {

namespace {

std::string reason() { return std::generic_category().message(errno); }

int current_network() {
  const int found = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (found < 0) throw NoNetwork("this system has no network namespaces: " + reason());
  return found;
}

void go_to(int network) {
  if (::setns(network, CLONE_NEWNET) != 0) throw std::runtime_error("a namespace cannot be entered: " + reason());
}

class Inside {
 public:
  Inside(int network, int home) : home_(home) { go_to(network); }
  ~Inside() {
    // What would follow could be done to the machine's own network.
    if (::setns(home_, CLONE_NEWNET) != 0) std::abort();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int home_;
};

int made_network(int home) {
  if (::unshare(CLONE_NEWNET) != 0) throw NoNetwork("no network namespace can be made here: " + reason());
  const int made = current_network();
  go_to(home);
  return made;
}

// Where this thread is. Lines of `ip -batch`.
void call_ip(const std::string& lines) {
  std::cout.flush();
  const std::string command = "PATH=\"$PATH:/usr/sbin:/sbin\"; exec 2>&1; ip -batch - <<'END'\n" + lines + "END\n";
  std::FILE* const output = ::popen(command.c_str(), "re");
  if (output == nullptr) throw NoNetwork("`ip` cannot be started: " + reason());
  std::string said;
  std::array<char, 512> part{};
  while (std::fgets(part.data(), part.size(), output) != nullptr) said += part.data();
  if (::pclose(output) != 0) throw NoNetwork("`ip` of the package iproute2 could not make the hosts: " + said);
}

std::string port_of(int host) { return "port" + std::to_string(host); }

}  // namespace

Network::Network(int hosts) {
  if (::geteuid() != 0) throw NoNetwork("only root can make network namespaces");
  home_ = current_network();
  bridge_ = made_network(home_);
  for (int host = 0; host < hosts; ++host) hosts_.push_back(made_network(home_));
  make_bridge();
  for (int host = 0; host < hosts; ++host) make_host(host);
  const Inside at(bridge_, home_);
  ports_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (ports_ < 0) throw std::runtime_error("no socket: " + reason());
}

Network::~Network() {
  for (const int host : hosts_) ::close(host);
  for (const int descriptor : {ports_, bridge_, home_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void Network::make_bridge() const {
  const Inside at(bridge_, home_);
  std::string lines = "link add bridge0 type bridge\nlink set bridge0 up\n";
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const std::string port = port_of(static_cast<int>(host));
    std::ostringstream line;
    line << "link add " << port << " type veth peer name eth0 netns /proc/" << ::getpid() << "/fd/" << hosts_[host]
         << "\nlink set " << port << " master bridge0 up\n";
    lines += line.str();
  }
  call_ip(lines);
}

void Network::make_host(int host) const {
  const Inside at(namespace_of(host), home_);
  call_ip("addr add " + address(host) + "/24 dev eth0\nlink set eth0 up\nlink set lo up\n");
}

std::string Network::address(int host) { return "10.77.0." + std::to_string(host + 1); }

void Network::enter(int host) const {
  go_to(namespace_of(host));
  const std::string name = "host" + std::to_string(host);
  if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(name.c_str(), name.size()) != 0) {
    throw std::runtime_error("a host cannot be given a name: " + reason());
  }
}

void Network::set_port(int host, bool is_up) const {
  ifreq port{};
  port_of(host).copy(port.ifr_name, IFNAMSIZ - 1);
  bool is_done = ::ioctl(ports_, SIOCGIFFLAGS, &port) == 0;
  port.ifr_flags = static_cast<short>(is_up ? port.ifr_flags | IFF_UP : port.ifr_flags & ~IFF_UP);
  is_done = is_done && ::ioctl(ports_, SIOCSIFFLAGS, &port) == 0;
  if (!is_done) throw std::runtime_error(port_of(host) + " cannot be switched: " + reason());
}

std::uint64_t Network::bytes_from(int host) const {
  const Inside at(bridge_, home_);
  std::ifstream devices("/proc/self/net/dev");
  const std::string name = port_of(host) + ":";
  for (std::string line; std::getline(devices, line);) {
    std::istringstream words(line);
    std::string device;
    std::uint64_t received = 0;
    if (words >> device >> received && device == name) return received;
  }
  throw std::runtime_error("no counter of " + name);
}

Visit::Visit(const Network& network, int host) : home_(network.home_) { go_to(network.namespace_of(host)); }

Visit::~Visit() {
  if (::setns(home_, CLONE_NEWNET) != 0) std::abort();
}

}  // namespace tutti::testing_hosts
