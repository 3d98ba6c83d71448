#include "tutti/mesh/control/forked_child.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace tutti::control {

namespace {

// Descriptor + 1, so that nothing has to run before the first use or after the last. Further connections are just not closed.
std::array<std::atomic<int>, 64> open_ones{};

void close_all() {
  for (std::atomic<int>& slot : open_ones) {
    const int fd = slot.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) close(fd);
  }
}

}  // namespace

void close_in_forked_child(int fd) {
  static const int registered = pthread_atfork(nullptr, nullptr, close_all);
  static_cast<void>(registered);
  for (std::atomic<int>& slot : open_ones) {
    int empty = 0;
    if (slot.compare_exchange_strong(empty, fd + 1, std::memory_order_relaxed)) return;
  }
}

void keep_in_forked_child(int fd) noexcept {
  for (std::atomic<int>& slot : open_ones) {
    int own = fd + 1;
    if (slot.compare_exchange_strong(own, 0, std::memory_order_relaxed)) return;
  }
}

}  // namespace tutti::control
