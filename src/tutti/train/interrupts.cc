#include "tutti/train/interrupts.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace tutti {

namespace {

std::atomic<std::uint32_t> interrupts{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a signal handler writes it");
std::atomic<bool> is_ours{false};  // the handler that is installed
struct sigaction previous {};      // written before the handler is installed, and read by it

std::mutex mutex;  // short: of the two numbers below
int listening = 0;

void note(int) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  if (is_ours.exchange(false)) sigaction(SIGINT, &previous, nullptr);
}

}  // namespace

Interrupts::Interrupts(bool is_listening) : is_listening_(is_listening), before_(interrupts.load(std::memory_order_relaxed)) {
  if (!is_listening_) return;
  const std::lock_guard lock(mutex);
  if (listening++ > 0) return;
  if (sigaction(SIGINT, nullptr, &previous) != 0) return;
  if ((previous.sa_flags & SA_SIGINFO) == 0 && previous.sa_handler == SIG_IGN) return;
  struct sigaction ours {};
  ours.sa_handler = note;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  is_ours.store(true);
  sigaction(SIGINT, &ours, nullptr);
}

Interrupts::~Interrupts() {
  if (!is_listening_) return;
  const std::lock_guard lock(mutex);
  if (--listening > 0 || !is_ours.exchange(false)) return;
  struct sigaction current {};
  // Another one that was set meanwhile stays.
  if (sigaction(SIGINT, nullptr, &current) == 0 && current.sa_handler == note) sigaction(SIGINT, &previous, nullptr);
}

bool Interrupts::came() const noexcept { return is_listening_ && interrupts.load(std::memory_order_relaxed) != before_; }

}  // namespace tutti
