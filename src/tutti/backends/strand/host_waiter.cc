#include "tutti/backends/strand/host_waiter.h"

#include <immintrin.h>

#include <condition_variable>
#include <mutex>

namespace tutti {

namespace {

// A few microseconds: most waits for small work end here, without a system call on either side.
constexpr int spins_before_blocking = 400;

struct Waiter {
  std::mutex mutex;
  std::condition_variable reached_changed;
  bool reached = false;
};

}  // namespace

bool wait_on_host(Timeline& line, std::uint64_t value, Deadline deadline) {
  for (int i = 0; i < spins_before_blocking; ++i) {
    if (line.is_done(value)) return true;
    _mm_pause();
  }
  Waiter waiter;
  const auto notify = [](void* argument) noexcept {
    auto& mine = *static_cast<Waiter*>(argument);
    const std::lock_guard lock(mine.mutex);
    mine.reached = true;
    mine.reached_changed.notify_one();
  };
  if (!line.when_reached(value, notify, &waiter)) return true;
  {
    std::unique_lock lock(waiter.mutex);
    if (deadline) {
      waiter.reached_changed.wait_until(lock, *deadline, [&] { return waiter.reached; });
    } else {
      waiter.reached_changed.wait(lock, [&] { return waiter.reached; });
    }
  }
  line.forget(&waiter);  // also waits for a notification that is still at work on the waiter
  return line.is_done(value);
}

}  // namespace tutti
