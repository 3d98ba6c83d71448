// Kernels that work along lines: dense rows of elements, held as the type they are worked on in, shared out over the cores.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

// Half precision is widened this many elements at a time.
inline constexpr std::int64_t line_chunk = block_elements;
// A line longer than `long_line` is cut into segments for the cores, whatever their number: the cut shows in the last bits.
inline constexpr std::int64_t segment_elements = 32 * 1024;
inline constexpr std::int64_t long_line = 4 * segment_elements;

inline constexpr std::int64_t most_lines_at_once = 64;

template <class W>
struct LineRoom {
  alignas(64) std::array<W, line_chunk> elements;
};

// A dense operand read as W.
template <class W>
class LineSource {
 public:
  explicit LineSource(const Operand& operand)
      : data_(operand.data),
        size_(static_cast<std::int64_t>(size_of(operand.dtype))),
        widen_(conversion(operand.dtype, dtype_of<W>)) {}

  [[nodiscard]] bool converts() const noexcept { return widen_ != nullptr; }
  // Elements begin ... begin + n - 1, at most a chunk where they must be converted; `room` may hold them.
  const W* read(std::int64_t begin, std::int64_t n, LineRoom<W>& room) const {
    const std::byte* from = data_ + begin * size_;
    if (widen_ == nullptr) return reinterpret_cast<const W*>(from);
    read_into(begin, n, room.elements.data());
    return room.elements.data();
  }
  // Where they stand, for those that need no converting.
  const W* at(std::int64_t begin) const noexcept { return reinterpret_cast<const W*>(data_ + begin * size_); }
  // For so many elements at once; null where none need converting.
  std::unique_ptr<W[]> room_for(std::int64_t n) const {
    return widen_ != nullptr && n > 0 ? std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(n)) : nullptr;
  }
  // Converted ones only.
  void read_into(std::int64_t begin, std::int64_t n, W* to) const {
    const std::array<const void*, 1> inputs{data_ + begin * size_};
    widen_(inputs.data(), 0, to, static_cast<std::size_t>(n));
  }
  // Calls body(begin, elements, n) for pieces of begin ... begin + n - 1.
  template <class Body>
  void for_each_piece(std::int64_t begin, std::int64_t n, LineRoom<W>& room, Body&& body) const {
    const std::int64_t step = widen_ != nullptr ? line_chunk : n;
    for (std::int64_t at = begin; at < begin + n; at += step) {
      const std::int64_t some = std::min(step, begin + n - at);
      body(at, read(at, some, room), static_cast<std::size_t>(some));
    }
  }

 private:
  const std::byte* data_;
  std::int64_t size_;
  Row widen_;
};

template <class W>
class LineTarget {
 public:
  explicit LineTarget(const Operand& operand)
      : data_(operand.data),
        size_(static_cast<std::int64_t>(size_of(operand.dtype))),
        narrow_(conversion(dtype_of<W>, operand.dtype)) {}

  [[nodiscard]] bool converts() const noexcept { return narrow_ != nullptr; }
  // Where to put elements from `begin` on; at most a chunk where they must be converted.
  W* room(std::int64_t begin, LineRoom<W>& room) const {
    return narrow_ != nullptr ? room.elements.data() : reinterpret_cast<W*>(data_ + begin * size_);
  }
  W* at(std::int64_t begin) const noexcept { return reinterpret_cast<W*>(data_ + begin * size_); }
  // What was put there becomes the operand's.
  void write(std::int64_t begin, const W* from, std::size_t n) const {
    if (narrow_ == nullptr) return;
    const std::array<const void*, 1> inputs{from};
    narrow_(inputs.data(), 0, data_ + begin * size_, n);
  }

 private:
  std::byte* data_;
  std::int64_t size_;
  Row narrow_;
};

// How many lines to work on at once, where all of them fit the cache (and a chunk, where they must be converted); 0 where not
// even one does.
template <class W>
std::int64_t lines_at_once(const LineSource<W>& x, std::int64_t length) noexcept {
  if (length > (x.converts() ? line_chunk : long_line)) return 0;
  return std::clamp<std::int64_t>(line_chunk / length, 1, most_lines_at_once);
}

// Calls body(segment, begin, n) for the segments of one long line, at the same time.
template <class Body>
void for_each_segment(Parallel& parallel, std::int64_t length, Body&& body) {
  const std::int64_t segments = (length + segment_elements - 1) / segment_elements;
  parallel.for_each_chunk(static_cast<std::size_t>(segments), [&](std::size_t segment) {
    const std::int64_t begin = static_cast<std::int64_t>(segment) * segment_elements;
    body(segment, begin, std::min(segment_elements, length - begin));
  });
}
inline std::size_t segments_of(std::int64_t length) noexcept {
  return static_cast<std::size_t>((length + segment_elements - 1) / segment_elements);
}

// Lines and their length: the last `axes` axes of an operand make one line.
struct LineShape {
  std::int64_t lines = 1;
  std::int64_t length = 1;

  explicit LineShape(const Operand& operand, std::size_t axes = 1) noexcept {
    for (std::size_t i = 0; i < operand.rank; ++i) (i + axes < operand.rank ? lines : length) *= operand.axes[i].size;
  }
};

}  // namespace tutti::kernels
