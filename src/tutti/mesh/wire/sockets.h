// TCP sockets by address text: "host:port", "[v6]:port".
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"

struct addrinfo;

namespace tutti::wire {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct Address {
  std::string host;
  std::string port;

  // Throws InvalidArgument where the text is none.
  static Address parse(const std::string& text, Site site);
};

struct FreeAddresses {
  void operator()(addrinfo* first) const noexcept;
};
// The system's, one behind the other.
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Nothing: `why` says what the system said, or that a name was not resolved by then.
Addresses resolve(const Address& of, Clock::time_point deadline, std::string& why);

// Throws InvalidArgument or InvalidState with the system's reason. Non-blocking, closed in programs that are started.
Descriptor listen_on(const std::string& address, Site site);
// The address a socket is bound to.
std::string bound_address(int fd);

// One attempt at each. Nothing in it: `why` says what the system said.
Descriptor connect_to_one_of(const Addresses& addresses, Clock::time_point deadline, std::string& why);
Descriptor connect_once(const Address& to, Clock::time_point deadline, std::string& why);
// The same, without waiting for it: of an address as bound_address() gives it. What is sent before it is connected would block.
Descriptor begin_connecting(const std::string& address, std::string& why);
// False: the deadline passed first.
bool wait_until(int fd, bool readable, Clock::time_point deadline);
// Messages are small and somebody waits for each.
void send_at_once(int fd) noexcept;
// From now on the other host answers about so often, also where nothing is sent, for as long as it can be reached.
void keep_alive(int fd, std::chrono::seconds every) noexcept;
// How long ago the other host last answered; 0 where the system does not say.
std::chrono::milliseconds silence_of(int fd) noexcept;

}  // namespace tutti::wire
