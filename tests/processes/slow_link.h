// A link to the coordinator on which every byte takes its time: a relay in the process itself.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <utility>

#include "engines/processes.h"
#include "tutti/base/clock.h"

namespace tutti::testing_processes {

class SlowLink {
 public:
  // To a coordinator on this host; `delay` is that of one direction.
  SlowLink(const std::string& coordinator, std::chrono::milliseconds delay) {
    const int to = std::stoi(coordinator.substr(coordinator.rfind(':') + 1));
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here = loopback(0);
    socklen_t length = sizeof here;
    testing_engines::require(::bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0 &&
                                 ::listen(listener, 8) == 0 &&
                                 ::getsockname(listener, reinterpret_cast<sockaddr*>(&here), &length) == 0,
                             "no relay");
    address_ = "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    // Its threads end with the process.
    std::thread([listener, to, delay] {
      for (;;) {
        const int near = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in there = loopback(to);
        if (::connect(far, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) continue;
        std::thread([=] { pass_on(near, far, delay); }).detach();
        std::thread([=] { pass_on(far, near, delay); }).detach();
      }
    }).detach();
  }

  [[nodiscard]] const std::string& address() const noexcept { return address_; }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out.sin_port = htons(static_cast<std::uint16_t>(port));
    return out;
  }

  static void pass_on(int from, int to, std::chrono::milliseconds delay) {
    std::deque<std::pair<Clock::time_point, std::string>> on_the_way;
    for (bool is_open = true; is_open || !on_the_way.empty();) {
      int left = -1;
      if (!on_the_way.empty())
        left = std::max(
            0, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(on_the_way.front().first - Clock::now()).count()));
      pollfd entry{is_open ? from : -1, POLLIN, 0};
      if (::poll(&entry, 1, left) > 0) {
        std::array<char, 65536> buffer;
        const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
        is_open = got > 0;
        if (got > 0) on_the_way.emplace_back(Clock::now() + delay, std::string(buffer.data(), static_cast<std::size_t>(got)));
      }
      while (!on_the_way.empty() && on_the_way.front().first <= Clock::now()) {
        const std::string& bytes = on_the_way.front().second;
        if (::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) is_open = false;
        on_the_way.pop_front();
      }
    }
    ::shutdown(to, SHUT_WR);
  }

  std::string address_;
};

}  // namespace tutti::testing_processes
