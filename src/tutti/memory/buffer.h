// A counted piece of a device's memory that knows who uses it: the order of its uses and the failure of its contents.
#pragma once

#include <cstddef>

#include "tutti/base/inline_vector.h"
#include "tutti/base/intrusive.h"
#include "tutti/base/short_lock.h"
#include "tutti/base/site.h"
#include "tutti/hal/failure.h"
#include "tutti/hal/op_name.h"
#include "tutti/hal/point.h"
#include "tutti/hal/timeline.h"

namespace tutti {

class Device;

using Points = InlineVector<TimelinePoint, 4>;

// Uses on the home stream are one counter, written under that stream's order lock; only readers on other streams are
// listed. When the memory is let go its uses stay on record: whoever writes it next, in whatever role, comes after them.
class Buffer : public Counted {
 public:
  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  // The same memory as a kernel of its device addresses it.
  [[nodiscard]] std::byte* kernel_address() const noexcept { return kernel_address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] Site site() const noexcept { return site_; }
  [[nodiscard]] FailureCell& failure() noexcept { return failure_; }
  // Someone else's memory: read where it is, never taken over for a result.
  [[nodiscard]] bool is_lent() const noexcept { return is_lent_; }

  // The point that made the present contents.
  [[nodiscard]] TimelinePoint written() const noexcept { return written_; }
  [[nodiscard]] bool is_ready() const noexcept { return is_done(written_); }
  // The op that made them; empty: none did.
  [[nodiscard]] OpName made_by() const noexcept { return made_by_; }

  // Work on `reader` that reads: what it must come after.
  void before_read(StreamId reader, Points& after) const;
  // Work on `writer` that overwrites: what it must come after.
  void before_write(StreamId writer, Points& after) const;
  // Call with the order lock of point's stream held, after the work was submitted.
  void note_read(TimelinePoint point);
  void note_write(TimelinePoint point, OpName op);

  // Nothing in flight uses it.
  [[nodiscard]] bool is_idle() const;

  // The last owner is gone. Called by Ref.
  virtual void release() noexcept = 0;

 protected:
  Buffer() = default;
  virtual ~Buffer() = default;

  // A new life: same memory, new owner. The uses of the earlier life stay.
  void begin_life(std::size_t bytes, Site site) noexcept {
    bytes_ = bytes;
    site_ = site;
    made_by_ = "";
  }
  void place_at(std::byte* address, Device& device) noexcept;
  void set_lent() noexcept { is_lent_ = true; }
  // is_idle() for whoever has the buffer to itself: takes no lock.
  [[nodiscard]] bool is_settled() const noexcept {
    if (!is_done(home_)) return false;
    for (const TimelinePoint& point : readers_) {
      if (!is_done(point)) return false;
    }
    return true;
  }
  // The same, as far as is known without a look at counters that other threads keep writing.
  [[nodiscard]] bool is_known_settled() const noexcept { return readers_.empty() && is_known_done(home_); }
  // Every use is done: forget them.
  void forget_uses() noexcept {
    written_ = {};
    home_ = {};
    if (!readers_.empty()) readers_.clear();
  }
  // Takes over the uses of the memory this one was cut from.
  void inherit_uses(const Buffer& other);
  // The points of all uses that are not done.
  void unfinished_uses(Points& out) const;

  // Same home stream, or every use done: work on `stream` may have it without waiting for another stream's counter.
  [[nodiscard]] StreamId home() const noexcept { return home_.stream; }

 private:
  bool is_lent_ = false;  // beside the count
  std::byte* address_ = nullptr;
  std::byte* kernel_address_ = nullptr;
  std::size_t bytes_ = 0;  // what was asked for
  Device* device_ = nullptr;
  Site site_;
  TimelinePoint written_;
  OpName made_by_ = "";
  TimelinePoint home_;  // last use on the stream that made the contents
  mutable ShortLock readers_lock_;
  Points readers_;  // last use per other stream
  // Looked at by the work that uses the memory, while the host writes what stands above: a cache line of its own.
  alignas(64) FailureCell failure_;
};

}  // namespace tutti
