// The order in which elements are visited where operands are contiguous along different axes. A block has a tile of the
// innermost axis and the one behind it, and a warp of it a patch in which every operand's accesses fill whole sectors of 32
// bytes: what a warp leaves of a line the others of its block find in the cache. Nothing goes through shared memory.
#pragma once

#include <algorithm>

#include "tutti/kernels/cuda/layout.h"

namespace tutti::kernels::cuda {

struct Tiling {
  bool is_used = false;
  std::uint32_t blocks = 0;
  Divisor<std::uint32_t> across;  // tiles along the innermost axis
  Divisor<std::uint32_t> down;    // and along the one behind
};

inline Tiling tiles_of(const Axes& axes, std::int64_t columns, std::int64_t rows) noexcept {
  const std::int64_t across = (axes.size[0] + columns - 1) / columns;
  const std::int64_t down = (axes.size[1] + rows - 1) / rows;
  const std::int64_t matrices = axes.count() / (axes.size[0] * axes.size[1]);
  return {true, static_cast<std::uint32_t>(across * down * matrices), Divisor<std::uint32_t>(across),
          Divisor<std::uint32_t>(down)};
}

inline constexpr int tile_threads = 256;

// Steps of the innermost axis in a tile: 128 bytes of packs.
template <int width>
inline constexpr int tile_columns = width > 1 ? 8 : 32;
// Rows that the threads of a block have at a time.
template <int width>
inline constexpr int tile_rows = tile_threads / tile_columns<width>;
// Whether the rows of a thread are contiguous, so that it has blocks of bytes to turn; else a block's rows do.
template <int width>
inline constexpr bool has_adjacent_rows = width == 16;
// Rows of a warp at a time: 32 bytes of elements that fill a pack of 16 in `width`, where that leaves two packs side by side. Of
// bytes a thread has four.
template <int width>
inline constexpr int warp_rows = has_adjacent_rows<width> ? 8 : (width > 1 ? std::min(16, 2 * width) : 4);

template <int width, int unroll, std::size_t operands>
__device__ __forceinline__ void locate_in_tile(const Tiling& tiling, const Layout<std::uint32_t, operands>& layout,
                                               std::int32_t (&at)[unroll][operands], bool (&is_in)[unroll]) {
  constexpr unsigned warp_columns = 32 / warp_rows<width>;
  constexpr unsigned warps_across = tile_columns<width> / warp_columns;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t above = tiling.across.quotient(blockIdx.x);
  const std::uint32_t matrix = tiling.down.quotient(above);
  const std::uint32_t column = (blockIdx.x - above * tiling.across.divisor()) * tile_columns<width> +
                               warp % warps_across * warp_columns + lane % warp_columns;
  const std::uint32_t in_block = warp / warps_across * warp_rows<width> + lane / warp_columns;
  const std::uint32_t first =
      (above - matrix * tiling.down.divisor()) * (tile_rows<width> * unroll) + in_block * (has_adjacent_rows<width> ? unroll : 1);
  std::int32_t base[operands];
  layout.locate(matrix, base, 2);
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const std::uint32_t row = first + u * (has_adjacent_rows<width> ? 1 : tile_rows<width>);
    is_in[u] = column < layout.size[0].divisor() && row < layout.size[1].divisor();
    const auto x = static_cast<std::int32_t>(is_in[u] ? column : 0);
    const auto y = static_cast<std::int32_t>(is_in[u] ? row : 0);
#pragma unroll
    for (std::size_t k = 0; k < operands; ++k) at[u][k] = base[k] + x * layout.stride[0][k] + y * layout.stride[1][k];
  }
}

}  // namespace tutti::kernels::cuda
