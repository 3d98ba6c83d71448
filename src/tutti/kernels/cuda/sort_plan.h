// How lines are sorted on a GPU: short ones by a warp or a block each, long ones all at once, and the memory that takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/exec/kernel.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

inline constexpr std::int64_t most_in_warp = 32;
inline constexpr std::int64_t most_in_block = 4096;
inline constexpr std::int64_t longest_line = 0xffffffff;  // elements are numbered by 32 bits on the way
// Lines sorted together: by key, then by line. Longer ones keep the GPU busy by themselves.
inline constexpr std::int64_t longest_together = std::int64_t{1} << 20U;
inline constexpr std::int64_t fewest_together = 3;
inline constexpr std::int64_t most_together = (std::int64_t{1} << 31U) - 1;  // elements

struct SortPlan {
  std::int64_t lines = 1;
  std::int64_t length = 0;
  SortAttributes attributes;
  std::int64_t element = 1;  // bytes

  SortPlan(const SortAttributes& wanted, const Operand& x) noexcept
      : attributes(wanted), element(static_cast<std::int64_t>(size_of(x.dtype))) {
    if (x.rank == 0) return;
    length = x.axes[x.rank - 1U].size;
    for (std::size_t i = 0; i + 1U < x.rank; ++i) lines *= x.axes[i].size;
  }

  [[nodiscard]] bool is_empty() const { return lines == 0 || length == 0 || attributes.keep == 0; }
  [[nodiscard]] bool is_long() const { return length > most_in_block; }
  // Of long lines, how many are sorted together.
  [[nodiscard]] std::int64_t together() const {
    if (lines < fewest_together || length >= longest_together) return 1;
    return std::min(lines, most_together / length);
  }
  // Values of single lines are sorted without knowing where they came from; the output is one of the two places that takes.
  [[nodiscard]] bool is_keys_only() const {
    return element >= 4 && !attributes.wants_indices && attributes.keep == length && together() == 1;
  }

  static constexpr std::int64_t align(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }
  [[nodiscard]] std::int64_t items() const { return together() * length; }
  [[nodiscard]] std::int64_t keys_bytes() const { return align(items() * std::max<std::int64_t>(element, 4)); }
  [[nodiscard]] std::int64_t numbers_bytes() const { return align(items() * 4); }
  // What CUB's radix sort of two buffers wants, from above: 1 KiB for every tile, of which none has fewer than 2048 items; some
  // counts for every 2^28 items.
  [[nodiscard]] std::int64_t cub_bytes() const {
    const std::int64_t tiles = std::min(items(), std::int64_t{1} << 28U) / 2 + items() / 4096;
    return align(tiles + (std::int64_t{1} << 18U));
  }
  [[nodiscard]] std::int64_t scratch_bytes() const {
    if (is_empty() || !is_long()) return 0;
    return (is_keys_only() ? keys_bytes() : 2 * keys_bytes() + 2 * numbers_bytes()) + cub_bytes();
  }
};

void sort_lines(const SortPlan& plan, const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
