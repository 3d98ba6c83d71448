#include "hosts/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace tutti::testing_hosts {

namespace {

// Large ones cost the relay less. Fewer are then lost of as many bytes.
constexpr int longest_frame = 9000;

std::string reason() { return std::generic_category().message(errno); }

int current_network() {
  const int found = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (found < 0) throw NoNetwork("this system has no network namespaces: " + reason());
  return found;
}

void go_to(int network) {
  if (::setns(network, CLONE_NEWNET) != 0) throw std::runtime_error("a namespace cannot be entered: " + reason());
}

int made_network(int home) {
  if (::unshare(CLONE_NEWNET) != 0) throw NoNetwork("no network namespace can be made here: " + reason());
  const int made = current_network();
  go_to(home);
  return made;
}

// Settings of network devices where this thread is.
class Settings {
 public:
  explicit Settings(const char* device) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::strncpy(asked_.ifr_name, device, IFNAMSIZ - 1);
  }
  ~Settings() { ::close(socket_); }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  void set_address(unsigned long what, const std::string& address) {
    sockaddr_in given{};
    given.sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &given.sin_addr);
    std::memcpy(&asked_.ifr_addr, &given, sizeof(given));
    ask(what);
  }
  void set_longest_frame(int bytes) {
    asked_.ifr_mtu = bytes;
    ask(SIOCSIFMTU);
  }
  void start() {
    ask(SIOCGIFFLAGS);
    asked_.ifr_flags = static_cast<short>(asked_.ifr_flags | IFF_UP);
    ask(SIOCSIFFLAGS);
  }

 private:
  void ask(unsigned long what) {
    if (::ioctl(socket_, what, &asked_) != 0) throw NoNetwork(std::string(asked_.ifr_name) + " cannot be set up: " + reason());
  }

  int socket_;
  ifreq asked_{};
};

// The packets that leave where this thread is can be read from it, and what is written to it arrives.
int made_device(const std::string& address) {
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) throw NoNetwork("no TUN device can be made: /dev/net/tun: " + reason());
  ifreq asked{};
  std::strncpy(asked.ifr_name, "eth0", IFNAMSIZ - 1);
  asked.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device, TUNSETIFF, &asked) != 0) throw NoNetwork("no TUN device can be made: " + reason());
  Settings("lo").start();
  Settings settings("eth0");
  settings.set_longest_frame(longest_frame);
  settings.set_address(SIOCSIFADDR, address);
  settings.set_address(SIOCSIFNETMASK, "255.255.255.0");
  settings.start();
  return device;
}

}  // namespace

Network::Network(int hosts, std::uint64_t seed) {
  if (::geteuid() != 0) throw NoNetwork("only root can make network namespaces");
  home_ = current_network();
  std::vector<int> devices;
  for (int host = 0; host < hosts; ++host) {
    hosts_.push_back(made_network(home_));
    const Visit at(*this, host);
    devices.push_back(made_device(address(host)));
  }
  relay_ = std::make_unique<Relay>(devices, seed);
}

Network::~Network() {
  for (const int host : hosts_) ::close(host);
  ::close(home_);
}

std::string Network::address(int host) { return "10.77.0." + std::to_string(host + 1); }

void Network::enter(int host) const {
  go_to(namespace_of(host));
  const std::string name = "host" + std::to_string(host);
  if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(name.c_str(), name.size()) != 0) {
    throw std::runtime_error("a host cannot be given a name: " + reason());
  }
}

void Network::set_cut(int host, int other, bool is_cut) const {
  relay_->set_cut(host, other, is_cut);
  relay_->set_cut(other, host, is_cut);
}

void Network::cut(int host) const {
  for (int other = 0; other < count(); ++other) set_cut(host, other, true);
}

void Network::heal(int host) const {
  for (int other = 0; other < count(); ++other) set_cut(host, other, false);
}

void Network::set_paused(int host, bool is_paused) const {
  for (int other = 0; other < count(); ++other) {
    relay_->set_paused(host, other, is_paused);
    relay_->set_paused(other, host, is_paused);
  }
}

void Network::pause(int host) const { set_paused(host, true); }

void Network::resume(int host) const { set_paused(host, false); }

void Network::set_ways(int host, const Way& way) const {
  for (int other = 0; other < count(); ++other) {
    relay_->set_way(host, other, way);
    relay_->set_way(other, host, way);
  }
}

Visit::Visit(const Network& network, int host) : home_(network.home_) { go_to(network.namespace_of(host)); }

Visit::~Visit() {
  // What would follow could be done to the machine's own network.
  if (::setns(home_, CLONE_NEWNET) != 0) std::abort();
}

}  // namespace tutti::testing_hosts
