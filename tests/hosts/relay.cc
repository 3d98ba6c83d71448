#include "hosts/relay.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>

namespace tutti::testing_hosts {

namespace {

using RelayClock = std::chrono::steady_clock;

constexpr std::size_t longest_packet = 65'536;
// So many packets of one host are carried before the next one's turn.
constexpr int at_a_time = 64;

std::optional<int> receiver_of(const std::byte* packet, std::size_t size) {
  constexpr std::size_t header = 20, destination = 19;  // its last byte
  if (size < header || std::to_integer<int>(packet[0]) >> 4 != 4) return std::nullopt;
  return std::to_integer<int>(packet[destination]) - 1;
}

}  // namespace

class Relay::Carrier {
 public:
  Carrier(const std::vector<int>& devices, int woken, Table& table, std::uint64_t seed)
      : table_(table), random_(seed), ways_(devices.size() * devices.size()) {
    for (const int device : devices) sources_.push_back({device, POLLIN, 0});
    sources_.push_back({woken, POLLIN, 0});
  }

  [[noreturn]] void run() {
    for (;;) {
      const std::optional<RelayClock::time_point> next = deliver();
      timespec left{};
      if (next) {
        const auto time = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(*next - RelayClock::now()));
        left = {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
      }
      ::ppoll(sources_.data(), sources_.size(), next ? &left : nullptr, nullptr);
      for (std::size_t host = 0; host + 1 < sources_.size(); ++host) {
        if (sources_[host].revents != 0) take(static_cast<int>(host));
      }
      std::uint64_t count = 0;
      if (sources_.back().revents != 0 && ::read(sources_.back().fd, &count, sizeof(count)) < 0 && errno != EAGAIN) ::_exit(1);
    }
  }

 private:
  struct Packet {
    RelayClock::time_point due;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] int hosts() const { return static_cast<int>(sources_.size()) - 1; }
  std::deque<Packet>& way(int from, int to) { return ways_[static_cast<std::size_t>(from * hosts() + to)]; }

  void take(int from) {
    for (int i = 0; i < at_a_time; ++i) {
      const ssize_t got = ::read(sources_[static_cast<std::size_t>(from)].fd, buffer_.data(), buffer_.size());
      if (got <= 0) return;
      const auto size = static_cast<std::size_t>(got);
      table_.bytes[from].fetch_add(size, std::memory_order_relaxed);
      const std::optional<int> to = receiver_of(buffer_.data(), size);
      if (!to || *to < 0 || *to >= hosts()) continue;
      const Rules& rules = table_.ways[from][*to];
      if (rules.is_cut || random_() % 1'000'000 < rules.loss) continue;
      const std::chrono::microseconds delay(rules.delay);
      std::deque<Packet>& queue = way(from, *to);
      if (delay.count() == 0 && queue.empty() && !rules.is_paused) {
        send(*to, buffer_.data(), size);
      } else {
        queue.push_back({RelayClock::now() + delay, {buffer_.begin(), buffer_.begin() + got}});
      }
    }
  }

  // All that is due. Then when the next will be.
  std::optional<RelayClock::time_point> deliver() {
    std::optional<RelayClock::time_point> next;
    const auto now = RelayClock::now();
    for (int from = 0; from < hosts(); ++from) {
      for (int to = 0; to < hosts(); ++to) {
        std::deque<Packet>& queue = way(from, to);
        const Rules& rules = table_.ways[from][to];
        if (rules.is_cut) queue.clear();
        if (queue.empty() || rules.is_paused) continue;
        while (!queue.empty() && queue.front().due <= now) {
          send(to, queue.front().bytes.data(), queue.front().bytes.size());
          queue.pop_front();
        }
        if (!queue.empty() && (!next || queue.front().due < *next)) next = queue.front().due;
      }
    }
    return next;
  }

  void send(int to, const std::byte* packet, std::size_t size) {
    // A device that takes no packet has lost it, as a cable may.
    if (::write(sources_[static_cast<std::size_t>(to)].fd, packet, size) < 0) return;
  }

  Table& table_;
  std::mt19937_64 random_;
  std::vector<std::deque<Packet>> ways_;
  std::vector<pollfd> sources_;  // the devices, and what wakes
  std::array<std::byte, longest_packet> buffer_;
};

Relay::Relay(std::vector<int> devices, std::uint64_t seed) {
  if (devices.size() > static_cast<std::size_t>(most_hosts)) throw std::runtime_error("a relay has no room for so many hosts");
  woken_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const pid_t parent = ::getpid();
  std::cout.flush();
  // A process, not a thread: whoever has one cannot fork ranks under a sanitizer.
  process_ = ::fork();
  if (woken_ < 0 || process_ < 0) throw std::runtime_error("no relay: " + std::generic_category().message(errno));
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    Carrier(devices, woken_, *table_, seed).run();
  }
  for (const int device : devices) ::close(device);
}

Relay::~Relay() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  ::close(woken_);
}

void Relay::set_way(int from, int to, const Way& way) const {
  Rules& rules = table_->ways[from][to];
  rules.delay = way.delay.count();
  rules.loss = static_cast<std::uint32_t>(way.loss * 1e6);
}

void Relay::set_cut(int from, int to, bool is_cut) const {
  table_->ways[from][to].is_cut = is_cut;
  wake();
}

void Relay::set_paused(int from, int to, bool is_paused) const {
  table_->ways[from][to].is_paused = is_paused;
  wake();
}

void Relay::wake() const {
  const std::uint64_t one = 1;
  if (::write(woken_, &one, sizeof(one)) < 0) throw std::runtime_error("the relay cannot be woken");
}

std::uint64_t Relay::bytes_from(int host) const { return table_->bytes[host]; }

}  // namespace tutti::testing_hosts
