// How a kernel cuts its elements into ranges for the cores it is lent.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/hal/parallel.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

// Below this a second core costs more than it saves.
inline constexpr std::int64_t serial_elements = 64 * 1024;

// Calls body(begin, end) over 0 ... count in ranges of whole blocks, at the same time where that pays.
template <class Body>
void for_each_range(Parallel& parallel, std::int64_t count, Body&& body, std::int64_t grain = serial_elements / 2) {
  const auto width = static_cast<std::int64_t>(parallel.width());
  // Several for each core: one that comes late finds less to do, and nobody waits for more than a small part at the end.
  const std::int64_t most = width == 1 ? 1 : std::min(width * 8, (count + grain - 1) / grain);
  if (count < 2 * grain || most <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  const std::int64_t length = ((count + most - 1) / most + block_elements - 1) / block_elements * block_elements;
  const std::int64_t chunks = (count + length - 1) / length;
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const std::int64_t begin = static_cast<std::int64_t>(chunk) * length;
    body(begin, std::min(begin + length, count));
  });
}

}  // namespace tutti::kernels
