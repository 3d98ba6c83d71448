// Who is told which work uses which bytes, and of every step that orders one use after another: the race detector, if it is on.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "tutti/base/site.h"
#include "tutti/hal/point.h"

namespace tutti {

class Device;

// Bytes that one piece of work reads or writes. Addresses are the host's names for them, on every device.
struct MemoryUse {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;   // from the first to the last
  std::size_t run = 0;     // of every `period` bytes the first `run` are used; run == bytes: all of them
  std::size_t period = 0;  // 0, and run != bytes: some of them, in no such pattern
  bool is_write = false;
  bool is_ordered = true;  // the runtime orders this use by itself; false: the program said that it does
  const std::byte* allocation = nullptr;
  std::size_t allocated_bytes = 0;
  Site allocated;
};

struct AccessingWork {
  const char* op = "";  // lives for ever
  Site site;
  const Device* device = nullptr;
  TimelinePoint point;  // the one it will get
  std::span<const MemoryUse> uses = {};
  std::span<const TimelinePoint> after = {};  // the edges it is given
};

class AccessObserver {
 public:
  // With the order lock of the stream held, before the work is submitted. May throw; then it is not submitted.
  // True: speak() is to be called when the lock is released.
  virtual bool before_submit(const AccessingWork& work) = 0;
  virtual void speak() = 0;
  // The calling thread is about to do the work itself, because nothing in flight is in its way. `point`: what it would have
  // got on the stream. May throw.
  virtual void before_run(const AccessingWork& work) = 0;
  // The program knows now that these are done, by a sync or because it asked.
  virtual void host_knows(std::span<const TimelinePoint> points) noexcept = 0;
  // Memory has a new owner. `is_unused`: every use by earlier owners was found done.
  virtual void handed_out(const std::byte* begin, std::size_t bytes, bool is_unused) noexcept = 0;

 protected:
  ~AccessObserver() = default;
};

namespace detail {
extern std::atomic<AccessObserver*> access_observer;
}

// Null when nobody wants to know: asking is a load and a branch.
inline AccessObserver* access_observer() noexcept { return detail::access_observer.load(std::memory_order_acquire); }
// An observer is never destroyed: threads may be inside it.
void set_access_observer(AccessObserver* observer) noexcept;

}  // namespace tutti
