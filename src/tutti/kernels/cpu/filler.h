// Lines that frame a piece of an input: pads and bands.
#pragma once

#include <bit>
#include <cstdint>

#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

// One element, put into any number of contiguous places.
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
