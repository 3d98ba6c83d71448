#include "tools/signal_line.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace tutti::tools {

SignalLine::SignalLine(std::span<const int> signals) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : signals) ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  line_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (line_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

SignalLine::~SignalLine() { ::close(line_); }

std::optional<int> SignalLine::next() const {
  signalfd_siginfo found{};
  if (::read(line_, &found, sizeof found) != sizeof found) return std::nullopt;
  return static_cast<int>(found.ssi_signo);
}

}  // namespace tutti::tools
