// Tiles of rows of f32 in shared memory: fetched, multiplied on tensor cores, and what comes of it written. Four warps work on as
// many rows each, go over the other operands tile by tile, and keep what they add up in registers.
//
// Sums on tensor cores are cut off, not rounded, at each step. So what a tile gives is added up from zero, and tiles are added by
// ordinary additions.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "tutti/kernels/cuda/feature_rows.h"
#include "tutti/kernels/cuda/tf32_products.cuh"

namespace tutti::kernels::cuda {

inline constexpr int tile_warps = 4;
inline constexpr int tile_threads = 32 * tile_warps;

// Rows in shared memory. What a warp reads at once is in different banks if rows are this far apart and taken in the order of
// `place_of`: 16 bytes a lane of eight rows, or 4 bytes of every other of these.
template <int features>
inline constexpr int pitch = features + 4;

// Which of a tile's rows stands for row (or column) `i` of its eight rows number `eight`.
__device__ __forceinline__ constexpr int place_of(int eight, int i) {
  return 16 * (eight / 2) + eight % 2 + 8 * (i / 4) + (2 * (i / 2) + 4 * (i % 2)) % 8;
}

// The sizes of a kernel: features at most; 16 * row_tiles rows a warp; columns, the rows of the other operands, a tile.
template <bool exact_, int features_, int row_tiles_, int columns_>
struct TileSizes {
  static constexpr bool exact = exact_;
  static constexpr int features = features_;
  static constexpr int row_tiles = row_tiles_;
  static constexpr int columns = columns_;
  static constexpr int warp_rows = 16 * row_tiles;
  static constexpr int rows = tile_warps * warp_rows;
  static constexpr int own_floats = rows * pitch<features>;
  static constexpr int other_floats = columns * pitch<features>;

  using Matches = Sums16x8[row_tiles][columns / 8];  // a warp's rows by a tile's columns
  using Totals = Sums16x8[row_tiles][features / 8];  // a warp's rows by features
};

struct LaneOf16x8 {
  int row = static_cast<int>(threadIdx.x % 32 / 4);
  int column = static_cast<int>(threadIdx.x % 4);
};

__device__ __forceinline__ float* head_of(const FeatureRows& rows, std::int64_t batch, std::int64_t head) {
  return reinterpret_cast<float*>(rows.data) + batch * rows.strides[0] + head * rows.strides[1];
}

// Begins to copy rows first ... first + count - 1; what is not there becomes zero.
template <int features, int count, int pitch>
__device__ __forceinline__ void fetch_rows(float* to, const float* head, std::int64_t stride, int first, int rows, int width,
                                           bool is_aligned) {
  const float* const from = head + first * stride;
  if (is_aligned) {
    constexpr int packs = features / 4;
    for (int i = static_cast<int>(threadIdx.x); i < count * packs; i += tile_threads) {
      const int row = i / packs;
      const int column = i % packs * 4;
      const bool is_there = first + row < rows && column < width;
      __pipeline_memcpy_async(to + row * pitch + column, is_there ? from + row * stride + column : head, 16,
                              is_there ? static_cast<std::size_t>(max(0, column + 4 - width)) * sizeof(float) : 16);
    }
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < count * features; i += tile_threads) {
      const int row = i / features;
      const int column = i % features;
      const bool is_there = first + row < rows && column < width;
      __pipeline_memcpy_async(to + row * pitch + column, is_there ? from + row * stride + column : head, 4, is_there ? 0 : 4);
    }
  }
}

// A warp's own rows by those of a tile, both in shared memory. A lane takes four features at once, for two products: which
// feature stands for which column of these does not matter as long as it is the same on both sides.
template <class Sizes>
__device__ __forceinline__ void match_rows(typename Sizes::Matches& sums, const float* own, const float* other, int features,
                                           LaneOf16x8 lane) {
  constexpr int line = pitch<Sizes::features>;
#pragma unroll
  for (auto& rows : sums) {
#pragma unroll
    for (Sums16x8& each : rows) each = {};
  }
  const float* const a = own + place_of(0, lane.row) * line + 4 * lane.column;
  const float* const b = other + place_of(0, lane.row) * line + 4 * lane.column;
#pragma unroll 2
  for (int k = 0; k < features; k += 16) {
    Left16x8<Sizes::exact> left[2][Sizes::row_tiles];
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m) {
      const float4 upper = *reinterpret_cast<const float4*>(a + place_of(2 * m, 0) * line + k);
      const float4 lower = *reinterpret_cast<const float4*>(a + place_of(2 * m + 1, 0) * line + k);
      left[0][m].set(0, upper.x);
      left[0][m].set(1, lower.x);
      left[0][m].set(2, upper.y);
      left[0][m].set(3, lower.y);
      left[1][m].set(0, upper.z);
      left[1][m].set(1, lower.z);
      left[1][m].set(2, upper.w);
      left[1][m].set(3, lower.w);
    }
#pragma unroll
    for (int n = 0; n < Sizes::columns / 8; ++n) {
      const float4 four = *reinterpret_cast<const float4*>(b + place_of(n, 0) * line + k);
      Right8x8<Sizes::exact> right[2];
      right[0].set(0, four.x);
      right[0].set(1, four.y);
      right[1].set(0, four.z);
      right[1].set(1, four.w);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int m = 0; m < Sizes::row_tiles; ++m) multiply_add(sums[m][n], left[half][m], right[half]);
      }
    }
  }
}

// totals * keep + weights * a tile's rows. What a lane holds of sums is what it needs of a left operand, if column c of four
// stands for columns 2 * c and 2 * c + 1: the same rows are taken for it.
template <class Sizes>
__device__ __forceinline__ void add_weighted(typename Sizes::Totals& totals, const typename Sizes::Matches& weights,
                                             const float (&keep)[Sizes::row_tiles][2], const float* other, int features,
                                             LaneOf16x8 lane) {
  constexpr int line = pitch<Sizes::features>;
  const float* const b = other + place_of(0, 2 * lane.column) * line + lane.row;
  const float* const below = other + place_of(0, 2 * lane.column + 1) * line + lane.row;
#pragma unroll
  for (int first = 0; first < Sizes::features / 8; first += 4) {  // of eight features
    if (8 * first >= features) break;
    Sums16x8 part[Sizes::row_tiles][4];
    unsigned half = 0x1000U;
    asm volatile("" : "+r"(half));  // or the compiler takes apart all weights before the loop, and has not the registers
#pragma unroll
    for (int k = 0; k < Sizes::columns / 8; ++k) {
      Left16x8<Sizes::exact> left[Sizes::row_tiles];
#pragma unroll
      for (int m = 0; m < Sizes::row_tiles; ++m) {
        const Sums16x8& from = weights[m][k];
        left[m].set(0, from.of[0], half);
        left[m].set(1, from.of[2], half);
        left[m].set(2, from.of[1], half);
        left[m].set(3, from.of[3], half);
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        Right8x8<Sizes::exact> right;
        right.set(0, b[place_of(k, 0) * line + 8 * first + 8 * n]);
        right.set(1, below[place_of(k, 0) * line + 8 * first + 8 * n]);
#pragma unroll
        for (int m = 0; m < Sizes::row_tiles; ++m) multiply_add(part[m][n], left[m], right);
      }
    }
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& total = totals[m][first + n].of[i];
          total = fmaf(total, keep[m][i / 2], part[m][n].of[i]);
        }
      }
    }
  }
}

template <class Sizes>
__device__ __forceinline__ void write_rows(const typename Sizes::Totals& totals, float* head, std::int64_t stride, int first,
                                           int rows, int features, LaneOf16x8 lane) {
#pragma unroll
  for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + place_of(2 * m + half, 0) + place_of(0, lane.row);
      if (row >= rows) continue;
#pragma unroll
      for (int eight = 0; eight < Sizes::features / 8; ++eight) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int feature = 8 * eight + 2 * lane.column + i;
          if (feature < features) head[row * stride + feature] = totals[m][eight].of[2 * half + i];
        }
      }
    }
  }
}

}  // namespace tutti::kernels::cuda
