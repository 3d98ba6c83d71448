// How the cores share lines of equal length: several at a time, or all of them at one line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/hal/parallel.h"
#include "tutti/kernels/cpu/ranges.h"

namespace tutti::kernels {

// Calls body(begin, end, parallel) for ranges of lines; `parallel` is what it may use inside.
template <class Body>
void for_each_line_range(Parallel& parallel, std::int64_t lines, std::int64_t length, std::int64_t serial, Body&& body) {
  const auto width = static_cast<std::int64_t>(parallel.width());
  if (width == 1 || lines * length < serial || lines < 2 * width) {
    if (lines > 0) body(std::int64_t{0}, lines, parallel);
    return;
  }
  const std::int64_t chunks = std::min(lines, width * 4);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    Serial alone;
    const auto i = static_cast<std::int64_t>(chunk);
    body(lines * i / chunks, lines * (i + 1) / chunks, alone);
  });
}

}  // namespace tutti::kernels
