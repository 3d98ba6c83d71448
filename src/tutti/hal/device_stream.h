// A queue of work on one device, run in order: the interface every backend implements.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/short_lock.h"
#include "tutti/hal/known_order.h"
#include "tutti/hal/point.h"
#include "tutti/hal/time_mark.h"
#include "tutti/hal/timeline.h"
#include "tutti/hal/work.h"

namespace tutti {

class Device;

struct StreamOptions {
  int priority = 0;                                    // higher runs first where the device must choose
  std::uint64_t most_ops = 512;                        // bounded run-ahead, in ops
  std::uint64_t most_bytes = std::uint64_t{4} << 30U;  // and in bytes
  bool may_block = false;  // its work waits for other processes: where threads of the host run it (cpu), it has one of its own

  friend bool operator==(const StreamOptions&, const StreamOptions&) = default;
};

// Work that has not finished, for messages.
struct PendingWork {
  std::string op;
  Site site;
  TimelinePoint point;
  Nanoseconds since = 0;  // when it was submitted (coarse clock)
  bool running = false;
};

class DeviceStream {
 public:
  static constexpr std::size_t most_payload_bytes = 768;

  DeviceStream(Device& device, StreamOptions options);
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  virtual ~DeviceStream();

  [[nodiscard]] StreamId id() const noexcept { return id_; }
  [[nodiscard]] Device& device() const noexcept { return device_; }
  [[nodiscard]] const StreamOptions& options() const noexcept { return options_; }
  [[nodiscard]] TimelinePoint last() const noexcept { return {id_, timeline_.submitted()}; }
  [[nodiscard]] bool is_idle() const noexcept { return timeline_.is_done(timeline_.submitted()); }

  // Held while an op's edges are derived and its work is submitted, so that the two are one step. Short.
  [[nodiscard]] ShortLock& order() noexcept { return order_; }
  [[nodiscard]] KnownOrder& known() noexcept { return known_; }

  // Opens what work on it needs and the hardware makes late: a context, a queue, the code of kernels. May block, through the
  // door: call it before order() is taken. A load once that is done, or where there is nothing of the kind. Throws DeviceLost.
  void prepare(Site site) {
    if (!is_prepared_.load(std::memory_order_acquire)) [[unlikely]]
      prepare_slowly(site);
  }

  // The point the host must see done before one more piece of work fits, or the none point. Call with order() held.
  [[nodiscard]] virtual TimelinePoint full_until(std::uint64_t traffic_bytes) const = 0;
  // Adds work after `after`. Call with order() held, after full_until() said there is room.
  virtual TimelinePoint submit(const Work& work, std::span<const TimelinePoint> after) = 0;
  // Call after order() is released: sets what was submitted going.
  virtual void kick() = 0;

  // Blocks; for the door alone.
  virtual bool block_until(std::uint64_t value, Deadline deadline) = 0;

  // For devices whose work runs elsewhere (Timeline::set_remote); the others have nothing to do here.
  // Brings the timeline up to what the device has shown so far, unless another thread is doing so: waits for nobody and asks
  // nothing of the device.
  virtual void look() noexcept {}
  // Someone will look for this value: the device is asked to show it.
  virtual void expect(std::uint64_t) noexcept {}
  // The host asked for a value that is not there yet, and may go on asking without ever waiting.
  virtual void polled() noexcept {}
  // Someone is to be told of this value: a thread of the backend looks until it has come.
  virtual void watch_until(std::uint64_t) {}

  // The hardware has this work, so what others put into its queue from now on comes after it. Always true where nobody can.
  [[nodiscard]] virtual bool is_handed_over(std::uint64_t) const noexcept { return true; }

  // A mark that takes the device's time when its turn comes.
  virtual std::shared_ptr<TimeMark> make_time_mark();
  // The hardware's own queue (a cudaStream_t), or null where there is none.
  [[nodiscard]] virtual void* native() { return nullptr; }

  // Drops what has not started; its points resolve, and what it would have written fails as cancelled.
  virtual void cancel() = 0;
  [[nodiscard]] virtual std::vector<PendingWork> pending() const = 0;

  // Failures of work, with its point, that the program has not been told of (Failure::is_told), oldest first.
  struct ReportedFailure {
    FailureRef failure;
    TimelinePoint point;
  };
  [[nodiscard]] std::vector<ReportedFailure> take_failures();
  // Only those of work up to a point; the others stay.
  [[nodiscard]] std::vector<ReportedFailure> take_failures(TimelinePoint up_to);
  void report(FailureRef failure, TimelinePoint point);

 protected:
  Timeline& own_timeline() noexcept { return timeline_; }
  [[nodiscard]] const Timeline& own_timeline() const noexcept { return timeline_; }
  // prepare() calls prepare_slowly() as long as this says that there is something to do.
  void set_prepared(bool is_prepared) noexcept { is_prepared_.store(is_prepared, std::memory_order_release); }
  virtual void prepare_slowly(Site) {}

 private:
  Device& device_;
  StreamOptions options_;
  StreamId id_;
  std::atomic<bool> is_prepared_{true};
  Timeline& timeline_;
  // Written by those who submit; what stands above is read by whoever runs the work, so they do not share a cache line.
  alignas(64) ShortLock order_;
  KnownOrder known_;
  std::mutex failures_mutex_;
  std::vector<ReportedFailure> failures_;
};

}  // namespace tutti
