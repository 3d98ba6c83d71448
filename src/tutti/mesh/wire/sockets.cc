#include "tutti/mesh/wire/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::wire {

namespace {

// For as long as a server of names takes.
Addresses look_up(const Address& address, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), address.port.c_str(), &hints, &found);
  if (code != 0) why = code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code);
  return Addresses(found);
}

// What a thread that asks for a name shares with who waits for it, or does not any more.
struct Question {
  std::mutex mutex;
  std::condition_variable answered;
  bool is_answered = false;
  Addresses addresses;
  std::string why;
};

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

}  // namespace

void FreeAddresses::operator()(addrinfo* first) const noexcept { freeaddrinfo(first); }

// The system's call has no deadline, so a thread makes it that outlives one who has waited long enough.
Addresses resolve(const Address& of, Clock::time_point deadline, std::string& why) {
  if (Addresses found = look_up(of, AI_NUMERICHOST, why)) return found;
  const auto question = std::make_shared<Question>();
  std::thread([question, of] {
    std::string said;
    Addresses found = look_up(of, 0, said);
    const std::lock_guard lock(question->mutex);
    question->addresses = std::move(found);
    question->why = std::move(said);
    question->is_answered = true;
    question->answered.notify_all();
  }).detach();
  std::unique_lock lock(question->mutex);
  if (!question->answered.wait_until(lock, deadline, [&] { return question->is_answered; })) {
    why = text("the name ", printable(of.host, 200), " was not resolved in time");
    return {};
  }
  why = std::move(question->why);
  return std::move(question->addresses);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Address Address::parse(const std::string& address, Site site) {
  const auto refuse = [&] {
    throw InvalidArgument(text("'", printable(address), "' is no address: host:port or [v6]:port is expected"), site);
  };
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) refuse();
  Address parsed{address.substr(0, colon), address.substr(colon + 1)};
  if (!parse_unsigned(parsed.port, 0, 65535) || parsed.port.find(' ') != std::string::npos) refuse();
  if (parsed.host.size() >= 2 && parsed.host.front() == '[' && parsed.host.back() == ']') {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  } else if (parsed.host.find(':') != std::string::npos) {
    refuse();
  }
  return parsed;
}

Descriptor listen_on(const std::string& address, Site site) {
  const Address parsed = Address::parse(address, site);
  std::string why;
  const Addresses list = look_up(parsed, AI_PASSIVE, why);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Descriptor fd(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
    const int yes = 1;
    if (fd.valid() && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(fd.get(), at->ai_addr, at->ai_addrlen) == 0 && listen(fd.get(), SOMAXCONN) == 0) {
      return fd;
    }
    why = std::strerror(errno);
  }
  throw InvalidState(text("cannot listen on ", printable(address), ": ", why), site);
}

std::string bound_address(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    throw InvalidState(text("cannot tell where a socket listens: ", std::strerror(errno)), Site());
  }
  const bool v6 = address.ss_family == AF_INET6;
  return text(v6 ? "[" : "", host.data(), v6 ? "]:" : ":", port.data());
}

bool wait_until(int fd, bool readable, Clock::time_point deadline) {
  for (;;) {
    pollfd entry{fd, static_cast<short>(readable ? POLLIN : POLLOUT), 0};
    const int ready = poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
  }
}

void send_at_once(int fd) noexcept {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void keep_alive(int fd, std::chrono::seconds every) noexcept {
  const int seconds = std::max(1, static_cast<int>(every.count()));
  const int probes = 127;  // the most there are: how long silence is borne is the caller's to say
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

std::chrono::milliseconds silence_of(int fd) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return std::chrono::milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv));
}

Descriptor connect_once(const Address& to, Clock::time_point deadline, std::string& why) {
  return connect_to_one_of(resolve(to, deadline, why), deadline, why);
}

Descriptor connect_to_one_of(const Addresses& addresses, Clock::time_point deadline, std::string& why) {
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Descriptor fd(socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
    if (!fd.valid()) {
      why = std::strerror(errno);
      continue;
    }
    int error = connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      if (!wait_until(fd.get(), false, deadline)) {
        why = "no answer";
        continue;
      }
      socklen_t size = sizeof error;
      if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    if (error == 0) {
      send_at_once(fd.get());
      return fd;
    }
    why = std::strerror(error);
  }
  return {};
}

Descriptor begin_connecting(const std::string& address, std::string& why) {
  const Addresses list = look_up(Address::parse(address, Site()), AI_NUMERICHOST, why);
  if (list == nullptr) return {};
  Descriptor fd(socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, list->ai_protocol));
  if (fd.valid() && (connect(fd.get(), list->ai_addr, list->ai_addrlen) == 0 || errno == EINPROGRESS)) {
    send_at_once(fd.get());
    return fd;
  }
  why = std::strerror(errno);
  return {};
}

}  // namespace tutti::wire
