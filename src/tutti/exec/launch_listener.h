// Who hears of every kernel that a thread sets going, and of what its host code does that a record could not do again: a capture.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "tutti/exec/kernel.h"
#include "tutti/memory/buffer.h"
#include "tutti/place/runtime.h"
#include "tutti/place/thread_state.h"

namespace tutti {

class TensorImpl;

class LaunchListener {
 public:
  // Memory of one operand.
  struct Use {
    Buffer* buffer = nullptr;
    const TensorImpl* tensor = nullptr;  // null: scratch
    bool is_write = false;
  };
  struct Launched {
    KernelCall call;
    std::size_t operand_count;  // inputs, outputs and, if there is one, the scratch
    Kernel kernel;
    LogicalDevice& on;
    DeviceStream& stream;
    std::span<const Use> uses;  // of the operands that are no scalars, in their order
    std::uint64_t traffic_bytes;
  };

  // It is under way, or done.
  virtual void launched(const Launched& launch) = 0;
  // Of a thread that nobody listens to, while this one listens to another. Called by any thread.
  virtual void launched_elsewhere(const KernelCall& call, std::span<const Use> uses) = 0;
  // The program goes on: what it did is told when the record is finished. `op`: the row, or what was called.
  virtual void refuse(const char* op, Site site, const std::string& rule) = 0;

 protected:
  ~LaunchListener() = default;
};

namespace detail {
extern constinit std::atomic<int> listeners;  // of all threads
void tell_all_listeners(const KernelCall& call, std::span<const LaunchListener::Use> uses);
}  // namespace detail

// While it lives, what the thread sets going is heard.
class Heard {
 public:
  explicit Heard(LaunchListener& listener);
  ~Heard();
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

 private:
  LaunchListener& listener_;
};

// What the thread does while it lives is not heard.
class Unheard {
 public:
  Unheard() noexcept : before_(std::exchange(detail::thread_state.listener, nullptr)) {}
  ~Unheard() { detail::thread_state.listener = before_; }
  Unheard(const Unheard&) = delete;
  Unheard& operator=(const Unheard&) = delete;

 private:
  LaunchListener* const before_;
};

}  // namespace tutti
