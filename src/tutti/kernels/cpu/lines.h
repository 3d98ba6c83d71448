// Outputs made line by line: how lines are shared out over the cores, and lines that frame a piece of an input.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

// Calls body(begin, end) over 0 ... lines, at the same time where there are enough elements for it to pay.
template <class Body>
void for_each_lines(Parallel& parallel, std::int64_t lines, std::int64_t elements, Body&& body) {
  const auto width = static_cast<std::int64_t>(parallel.width());
  if (lines == 0 || elements == 0) return;
  if (elements < serial_elements || width == 1 || lines == 1) {
    body(std::int64_t{0}, lines);
    return;
  }
  const std::int64_t chunks = std::min(lines, width * 4);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    body(lines * i / chunks, lines * (i + 1) / chunks);
  });
}

// One element, put into any number of places side by side.
class Filler {
 public:
  Filler(const std::byte* value, std::size_t size)
      : value_(value),
        size_(static_cast<std::int64_t>(size)),
        row_(copy_rows()[static_cast<std::size_t>(std::countr_zero(size))].plain) {}
  void fill(std::byte* to, std::int64_t n) const {
    const void* value = value_;
    if (n > 0) row_(&value, 1, to, static_cast<std::size_t>(n));
  }
  // n elements of the layout from `begin` on, between so many copies of the value.
  void frame(std::byte* to, std::int64_t before, const Layout& from, std::int64_t begin, std::int64_t n,
             std::int64_t after) const {
    fill(to, before);
    if (n > 0) from.gather(begin, n, to + before * size_);
    fill(to + (before + n) * size_, after);
  }

 private:
  const std::byte* value_;
  std::int64_t size_;
  Row row_;
};

}  // namespace tutti::kernels
