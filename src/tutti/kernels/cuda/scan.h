// How a scan is shared out: a warp or a block to a line, or several blocks to a long one in three steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/lines.h"

namespace tutti::kernels::cuda {

inline constexpr int scan_threads = 256;
inline constexpr int scan_items = 8;  // elements a thread has in flight
inline constexpr std::int64_t scan_tile = scan_threads * scan_items;
inline constexpr std::int64_t warp_scan_length = 512;  // a warp does lines up to this

// Depends on the shape alone, and with it the order of additions.
struct ScanPlan {
  static constexpr std::int64_t most_parts = 1024;
  static constexpr std::int64_t enough_lines = 256;  // to keep a GPU busy with a block each

  std::int64_t lines;
  std::int64_t length;
  std::int64_t part;   // elements, whole tiles
  std::int64_t parts;  // at least one

  explicit ScanPlan(const LineShape& shape) noexcept : lines(shape.lines), length(shape.length) {
    const std::int64_t even = (length + most_parts - 1) / most_parts;
    const std::int64_t least = lines >= enough_lines ? std::max<std::int64_t>(length, 1) : std::max(4 * scan_tile, even);
    part = (least + scan_tile - 1) / scan_tile * scan_tile;
    parts = std::max<std::int64_t>(1, (length + part - 1) / part);
  }
  [[nodiscard]] std::int64_t carry_bytes() const noexcept { return parts > 1 ? lines * parts * 8 : 0; }
};

void cumulative_sum(const ScanPlan& plan, bool include_initial, Queue& queue, const KernelCall& call);
void cumulative_product(const ScanPlan& plan, bool include_initial, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
