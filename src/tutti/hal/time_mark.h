// A moment on a stream, taken when the stream gets there: what events with timing are made of.
#pragma once

#include <atomic>

#include "tutti/base/clock.h"

namespace tutti {

class DeviceStream;

class TimeMark {
 public:
  TimeMark() = default;
  TimeMark(const TimeMark&) = delete;
  TimeMark& operator=(const TimeMark&) = delete;
  virtual ~TimeMark() = default;

  // The mark's turn has come on this stream.
  virtual void pass(DeviceStream& stream) noexcept = 0;
  [[nodiscard]] virtual bool has_passed() const noexcept = 0;
  // On the host's clock, as near as the device can tell. Once its point is done.
  [[nodiscard]] virtual Nanoseconds time() const = 0;
  // From an earlier mark to this one, by the clock they share.
  [[nodiscard]] virtual Nanoseconds since(const TimeMark& earlier) const { return time() - earlier.time(); }
};

// For devices whose work is run by threads of the host.
class HostTimeMark final : public TimeMark {
 public:
  void pass(DeviceStream&) noexcept override { time_.store(now(), std::memory_order_release); }
  [[nodiscard]] bool has_passed() const noexcept override { return time() != 0; }
  [[nodiscard]] Nanoseconds time() const noexcept override { return time_.load(std::memory_order_acquire); }

 private:
  std::atomic<Nanoseconds> time_{0};
};

}  // namespace tutti
