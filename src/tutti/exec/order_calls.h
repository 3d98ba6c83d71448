// The calls behind Event::record, Stream::mark and Stream::wait (OpKind::order), for whoever sees calls as data.
#pragma once

#include <optional>

#include "tutti/exec/op_call.h"
#include "tutti/exec/stream.h"

namespace tutti {

// A place on a stream.
class RecordData final : public CallData {
 public:
  enum class What : std::uint8_t { last, time, mark };  // what is there already; the time when it is reached; a point of its own
  RecordData(const Stream& stream, What what) : stream_(stream), what_(what) {}
  void run(Site site) const;
  // Once it has run.
  [[nodiscard]] const Event::Recorded& recorded() const noexcept { return recorded_; }
  [[nodiscard]] const Stream& stream() const noexcept { return stream_; }
  [[nodiscard]] What what() const noexcept { return what_; }
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override { return std::make_shared<RecordData>(stream_, what_); }

 private:
  Stream stream_;
  What what_;
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
