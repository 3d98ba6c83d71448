// Streams and events as users hold them, the thread's current stream per device, and the syncs over them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/hal/deadline.h"
#include "tutti/hal/device_stream.h"

namespace tutti {

class LogicalDevice;
class Stream;
namespace detail {
class EventCell;
}

// A place on a stream, to be waited for. Recording costs nothing until someone asks; one that measures time puts a
// mark into the stream. Usable from any thread: while one records it, another may ask. A copy stays where it was made.
class Event {
 public:
  struct Options {
    bool timing = false;
  };
  struct Recorded {
    TimelinePoint point;
    std::shared_ptr<TimeMark> mark;  // of one that measures time
  };
  Event() = default;
  explicit Event(const Options& options);
  Event(const Event& other);
  Event& operator=(const Event& other);
  ~Event() = default;

  // All that was submitted to the stream so far. Recording again moves the event.
  void record(Stream& stream, Site site = {});
  [[nodiscard]] bool is_done() const noexcept { return ask_done(point()); }
  [[nodiscard]] TimelinePoint point() const noexcept { return recorded().point; }
  // Blocks until it is done; throws the first failure of what its stream did before it that the program was not told of.
  void sync(const SyncOptions& options = {}, Site site = {}) const;
  // From one event to another, both with timing and both done. Syncs neither.
  static std::chrono::nanoseconds elapsed(const Event& from, const Event& to, Site site = {});

 private:
  [[nodiscard]] Recorded recorded() const noexcept;

  bool is_timed_ = false;
  mutable ShortLock lock_;
  Recorded recorded_;
  std::shared_ptr<detail::EventCell> cell_;  // of one that was recorded where calls are data: where it is from then on
};

// A queue of its own on one device, usable from any thread. Copies are the same stream; a moved-from one is a copy too.
class Stream {
 public:
  explicit Stream(std::string_view device, const StreamOptions& options = {}, Site site = {});
  Stream(const Stream&) = default;  // declared, so that there is no move that would leave a stream without its queue
  Stream& operator=(const Stream&) = default;
  // One that exists already: the device's default stream, or the thread's current one.
  Stream(DeviceStream& existing, LogicalDevice& device);

  [[nodiscard]] StreamId id() const noexcept;
  [[nodiscard]] const std::string& device() const noexcept;
  [[nodiscard]] bool is_idle() const noexcept;
  // What is submitted later comes after the event, or after all the other stream has now. The host does not block.
  void wait(const Event& event, Site site = {});
  void wait(const Stream& other, Site site = {});
  void wait(TimelinePoint point, Site site = {});
  // A point after all that is in the stream now, also what others put into a wrapped one.
  TimelinePoint mark(Site site = {});
  // Blocks until all that was submitted is done; throws the first failure among it that the program was not told of.
  void sync(const SyncOptions& options = {}, Site site = {});
  // Drops what has not started.
  void cancel(Site site = {});

  [[nodiscard]] DeviceStream& base() const noexcept;
  // The hardware's own queue, a cudaStream_t for a CUDA device, else null. What is put there by hand is not ordered with
  // tensors unless events say so.
  [[nodiscard]] void* native() const;

 private:
  friend class StreamScope;
  struct Lease;
  std::shared_ptr<Lease> lease_;
};

Stream default_stream(std::string_view device, Site site = {});
// A queue of the hardware that someone else made, a cudaStream_t, used like any other stream; it must outlive the runtime's
// use of it. Work put there by others is not known to the runtime: it only comes before or after in the order of the stream.
Stream wrap_stream(std::string_view device, void* native, Site site = {});

namespace detail {
struct StreamScopeEntry;
}

// Ops that run on the stream's device use it while the scope lives. Belongs to its thread and is left in reverse order.
class StreamScope {
 public:
  explicit StreamScope(const Stream& stream, Site site = {});
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  detail::StreamScopeEntry* entry_;
  Site site_;
};

// The runtime derives no edges for ops the thread calls while it lives: the caller orders streams by events.
class ManualOrder {
 public:
  ManualOrder() noexcept;
  ~ManualOrder();
  ManualOrder(const ManualOrder&) = delete;
  ManualOrder& operator=(const ManualOrder&) = delete;

 private:
  bool before_;
};

// Of the stream scopes the calling thread has open, outermost first.
std::vector<Stream> open_streams();
// The stream the calling thread's ops use on that device.
DeviceStream& current_stream(LogicalDevice& device) noexcept;

// Throws the first failure of their work that no read and no sync has told the program of, and says what the others were.
void raise_failures(std::span<DeviceStream* const> streams);

// All streams of one device ("": the one an op would run on), or of all devices.
void synchronize(std::string_view device = {}, const SyncOptions& options = {}, Site site = {});
void sync_devices(const SyncOptions& options = {}, Site site = {});
void cancel(Stream& stream, Site site = {});
// Forgets failures that the program was not told of. Values that failed stay failed.
void clear_errors(Site site = {});

}  // namespace tutti
