#include "tutti/memory/buffer.h"

#include <mutex>

#include "tutti/hal/device.h"

namespace tutti {

namespace {

void add_unfinished(Points& out, TimelinePoint point, StreamId except) {
  if (point.stream == except || is_done(point)) return;
  out.push_back(point);
}

}  // namespace

void Buffer::place_at(std::byte* address, Device& device) noexcept {
  address_ = address;
  kernel_address_ = address + device.memory().kernel_offset();
  device_ = &device;
}

void Buffer::before_read(StreamId reader, Points& after) const { add_unfinished(after, written_, reader); }

void Buffer::before_write(StreamId writer, Points& after) const {
  add_unfinished(after, home_, writer);
  const std::lock_guard guard(readers_lock_);
  for (const TimelinePoint& point : readers_) add_unfinished(after, point, writer);
}

void Buffer::note_read(TimelinePoint point) {
  if (point.stream == home_.stream) {
    home_.value = point.value;
    return;
  }
  const std::lock_guard guard(readers_lock_);
  if (readers_.size() == 1 && readers_[0].stream == point.stream) [[likely]] {
    readers_[0].value = point.value;
    return;
  }
  std::size_t kept = 0;
  for (const TimelinePoint& reader : readers_) {
    if (reader.stream != point.stream && !is_done(reader)) readers_[kept++] = reader;
  }
  readers_.resize(kept);
  readers_.push_back(point);
}

void Buffer::note_write(TimelinePoint point, OpName op) {
  written_ = point;
  made_by_ = op;
  home_ = point;
  if (readers_.empty()) return;
  const std::lock_guard guard(readers_lock_);
  readers_.clear();
}

bool Buffer::is_idle() const {
  const std::lock_guard guard(readers_lock_);
  return is_settled();
}

void Buffer::inherit_uses(const Buffer& other) {
  written_ = other.written_;
  home_ = other.home_;
  readers_ = other.readers_;
}

void Buffer::unfinished_uses(Points& out) const {
  add_unfinished(out, home_, StreamId::none);
  for (const TimelinePoint& point : readers_) add_unfinished(out, point, StreamId::none);
}

}  // namespace tutti
