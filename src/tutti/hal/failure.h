// What went wrong with work in flight, with its origin; it travels with the value it spoiled.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "tutti/base/site.h"

namespace tutti {

enum class FailureKind : std::uint8_t { kernel, copy, device_lost, cancelled };

struct Failure {
  FailureKind kind = FailureKind::kernel;
  std::string reason;  // "index 7 is out of range ..."
  std::string op;      // what the program called
  std::string device;
  Site site;                        // the call that made the failing op
  std::exception_ptr carried = {};  // what was thrown, where that is a CarriedError

  // Throws what it carries, or the matching AsyncError, whose site is the origin's. `also`: what else the message is to say.
  [[noreturn]] void raise(const std::string& also = {}) const;
  // "index 7 is out of range ... (op take on /job:.../device:GPU:0)"
  [[nodiscard]] std::string to_string() const;

  // Has a read or a sync thrown it, or listed it beside another? Then no later sync throws it again.
  [[nodiscard]] bool is_told() const noexcept { return told.load(std::memory_order_relaxed); }
  void set_told() const noexcept { told.store(true, std::memory_order_relaxed); }
  mutable std::atomic<bool> told{false};
};

using FailureRef = std::shared_ptr<const Failure>;

// The failure of a piece of memory, ordered like its contents: work sets it when it writes, work and the host look
// at it when they read. The usual case, no failure, is one load.
class FailureCell {
 public:
  FailureCell() = default;
  FailureCell(const FailureCell&) = delete;
  FailureCell& operator=(const FailureCell&) = delete;
  ~FailureCell() { clear(); }

  [[nodiscard]] bool is_set() const noexcept { return held_.load(std::memory_order_acquire) != nullptr; }
  [[nodiscard]] FailureRef get() const noexcept { return is_set() ? get_held() : nullptr; }
  void set(FailureRef failure) noexcept;
  void clear() noexcept {
    if (is_set()) set(nullptr);
  }

 private:
  [[nodiscard]] FailureRef get_held() const noexcept;
  std::atomic<FailureRef*> held_{nullptr};
};

// The failure that describes an exception thrown by work.
FailureRef failure_from(std::exception_ptr thrown, FailureKind kind, const char* op, const std::string& device, Site site);

}  // namespace tutti
