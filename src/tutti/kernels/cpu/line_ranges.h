// How the cores share lines of equal length: several at a time, or all of them at one line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/hal/parallel.h"

namespace tutti::kernels {

// Calls body(begin, end, inside) for ranges of lines, at the same time where there are `serial` elements or more and enough
// lines to go round; `inside` is what the body may use for its own work.
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

// Calls body(begin, end) over 0 ... lines; two lines are enough for two cores.
template <class Body>
void for_each_lines(Parallel& parallel, std::int64_t lines, std::int64_t elements, Body&& body) {
  constexpr std::int64_t few_elements = 32 * 1024;
  const auto width = static_cast<std::int64_t>(parallel.width());
  if (elements < few_elements || width == 1 || lines < 2) {
    if (lines > 0) body(std::int64_t{0}, lines);
    return;
  }
  const std::int64_t chunks = std::min(lines, width * 4);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    body(lines * i / chunks, lines * (i + 1) / chunks);
  });
}

}  // namespace tutti::kernels
