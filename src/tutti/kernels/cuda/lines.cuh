// The device's part of kernels that work along dense lines: each line is held in the registers of a few lanes, a warp or a
// block, read once and written once; longer lines are gone through in parts.
#pragma once

#include <bit>

#include "tutti/kernels/cuda/line_share.cuh"
#include "tutti/kernels/cuda/lines.h"

namespace tutti::kernels::cuda {

__device__ __forceinline__ std::int64_t earlier(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Elements that a thread loads at once where it can. Two of f64 gain little.
template <class T>
inline constexpr int line_width = sizeof(T) == 8 ? 1 : pack_width<T>;

template <class T>
bool is_packed(const LineShape& shape, const Operand& operand) noexcept {
  return shape.length % line_width<T> == 0 && is_aligned(operand, pack_bytes);
}

// Calls launch(std::integral_constant<int, width>) with how many elements are loaded at once.
template <class T, class Launch>
void with_line_width(bool packed, const Launch& launch) {
  if (packed) return launch(std::integral_constant<int, line_width<T>>{});
  launch(std::integral_constant<int, 1>{});
}

template <int width_, int packs_, bool is_block_>
struct LineKernel {
  static constexpr int width = width_;
  static constexpr int packs = packs_;
  static constexpr bool is_block = is_block_;
};

template <class T, int width, class Launch>
bool choose_line_kernel(const LineShape& shape, const Launch& launch) {
  constexpr int most = held_elements<T> / width;
  const std::int64_t packs = (shape.length + width - 1) / width;
  if (packs > std::int64_t{warp_lanes} * most) {
    const std::int64_t threads = ((packs + most - 1) / most + warp_lanes - 1) / warp_lanes * warp_lanes;
    if (threads > most_line_threads) return false;
    const Grid grid{.blocks = dim3(static_cast<unsigned>(shape.lines)), .threads = dim3(static_cast<unsigned>(threads))};
    launch(LineKernel<width, most, true>{}, grid, static_cast<int>(threads));
    return true;
  }
  const int lanes = packs >= warp_lanes ? warp_lanes : static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(packs)));
  const std::int64_t per_block = lane_line_threads / lanes;
  const Grid grid{.blocks = dim3(static_cast<unsigned>((shape.lines + per_block - 1) / per_block)),
                  .threads = dim3(lane_line_threads)};
  if constexpr (sizeof(T) < 8) {  // f64 is rare: one kernel for lines of any length
    if (packs <= lanes) {
      launch(LineKernel<width, 1, false>{}, grid, lanes);
      return true;
    }
    if constexpr (width > 1) {
      if (packs <= 4 * lanes) {
        launch(LineKernel<width, 4, false>{}, grid, lanes);
        return true;
      }
    }
  }
  launch(LineKernel<width, most, false>{}, grid, lanes);
  return true;
}

// Calls launch(LineKernel<...>, grid, lanes) for the kernel that holds such lines in registers; false where none does.
template <class T, class Launch>
bool with_line_kernel(const LineShape& shape, bool packed, const Launch& launch) {
  if constexpr (line_width<T> > 1) {
    if (packed) return choose_line_kernel<T, line_width<T>>(shape, launch);
  }
  return choose_line_kernel<T, 1>(shape, launch);
}

inline Grid grid_of_parts(const LineShape& shape) {
  return {.blocks = dim3(static_cast<unsigned>(shape.lines * LineParts(shape.length).count)), .threads = dim3(part_threads)};
}

}  // namespace tutti::kernels::cuda
