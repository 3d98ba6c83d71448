// The calls behind Event::record, Stream::mark and Stream::wait (OpKind::order), for whoever sees calls as data.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tutti/base/short_lock.h"
#include "tutti/exec/op_call.h"
#include "tutti/exec/stream.h"

namespace tutti {

namespace detail {

// Where an event is, for whoever has seen it being recorded and records it again.
class EventCell {
 public:
  void set(Event::Recorded fresh) noexcept {
    const std::lock_guard lock(lock_);
    std::swap(recorded_, fresh);
  }
  [[nodiscard]] Event::Recorded get() const noexcept {
    const std::lock_guard lock(lock_);
    return recorded_;
  }

 private:
  mutable ShortLock lock_;
  Event::Recorded recorded_;
};

}  // namespace detail

// A place on a stream.
class RecordData final : public CallData {
 public:
  enum class What : std::uint8_t { last, time, mark };  // what is there already; the time when it is reached; a point of its own
  RecordData(const Stream& stream, What what, std::weak_ptr<detail::EventCell> cell = {})
      : stream_(stream), what_(what), cell_(std::move(cell)) {}
  void run(Site site) const;
  // Once it has run.
  [[nodiscard]] const Event::Recorded& recorded() const noexcept { return recorded_; }
  [[nodiscard]] const Stream& stream() const noexcept { return stream_; }
  [[nodiscard]] What what() const noexcept { return what_; }
  // Of the event, as long as there is one.
  [[nodiscard]] const std::weak_ptr<detail::EventCell>& cell() const noexcept { return cell_; }
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override {
    return std::make_shared<RecordData>(stream_, what_, cell_);
  }

 private:
  Stream stream_;
  What what_;
  std::weak_ptr<detail::EventCell> cell_;
  mutable Event::Recorded recorded_;
};

// What comes on a stream comes after a point, or after all that another stream has.
class WaitData final : public CallData {
 public:
  WaitData(const Stream& stream, TimelinePoint point) : stream_(stream), point_(point) {}
  WaitData(const Stream& stream, const Stream& other) : stream_(stream), other_(other) {}
  void run(Site site) const;
  [[nodiscard]] const Stream& stream() const noexcept { return stream_; }
  [[nodiscard]] TimelinePoint point() const noexcept { return point_; }
  [[nodiscard]] const std::optional<Stream>& other() const noexcept { return other_; }
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override { return std::make_shared<WaitData>(*this); }

 private:
  Stream stream_;
  TimelinePoint point_;
  std::optional<Stream> other_;
};

}  // namespace tutti
