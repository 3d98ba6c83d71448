// What the kernels of attention over tiles of rows share.
#pragma once

#include <algorithm>

#include "tutti/exec/attention_attributes.h"
#include "tutti/kernels/cuda/attention_tiles.h"
#include "tutti/kernels/cuda/row_tiles.cuh"

namespace tutti::kernels::cuda {

inline constexpr float log2_of_e = 1.44269504F;

// Without what the library's has for results too small for it, which are 0 here.
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The block's head and its tile of rows. Tiles with the most to do come first; heads beside each other share nothing.
struct TileOfBlock {
  int head_of_all;
  int batch;
  int head;
  int first;  // row

  __device__ TileOfBlock(const TiledHeads& heads, int rows, int tile_rows, bool last_first)
      : head_of_all(static_cast<int>(blockIdx.x % heads.all_heads)),
        batch(head_of_all / heads.heads),
        head(head_of_all % heads.heads) {
    const int tile = static_cast<int>(blockIdx.x / heads.all_heads);
    first = (last_first ? (rows + tile_rows - 1) / tile_rows - 1 - tile : tile) * tile_rows;
  }
};

// Which keys the queries of a head see.
struct Sight {
  const std::uint8_t* mask;
  std::int64_t query_stride;
  std::int64_t key_stride;
  int queries;
  int keys;
  bool causal;

  __device__ Sight(const TiledHeads& heads, const TileOfBlock& tile)
      : mask(heads.mask),
        query_stride(heads.mask_strides[2]),
        key_stride(heads.mask_strides[3]),
        queries(heads.queries),
        keys(heads.keys),
        causal(heads.causal) {
    if (mask != nullptr) mask += tile.batch * heads.mask_strides[0] + tile.head * heads.mask_strides[1];
  }
  // Without a mask every query sees a key, and no tile is of use in which a causal rule hides all.
  [[nodiscard]] __device__ __forceinline__ bool skips() const { return causal && mask == nullptr; }
  [[nodiscard]] __device__ __forceinline__ bool sees(int query, int key) const {
    return query < queries && key < keys && (!causal || key <= query) &&
           (mask == nullptr || mask[query * query_stride + key * key_stride] != 0);
  }
};

// What the kernels share: where a block works and how it gets at rows.
template <class Sizes>
struct Block {
  const TiledHeads& heads;
  TileOfBlock tile;
  Sight sight;
  LaneOf16x8 lane;
  int warp_row = static_cast<int>(threadIdx.x / 32) * Sizes::warp_rows;
  int places[2] = {place_of(0, 2 * lane.column), place_of(0, 2 * lane.column + 1)};  // of a lane's two columns of the first eight

  __device__ Block(const TiledHeads& all, int rows, bool last_first)
      : heads(all), tile(all, rows, Sizes::rows, last_first), sight(all, tile) {}

  [[nodiscard]] __device__ __forceinline__ float* head_in(const FeatureRows& rows) const {
    return head_of(rows, tile.batch, tile.head);
  }
  // Of the tensor, in a warp's m-th 16 rows.
  [[nodiscard]] __device__ __forceinline__ int row_at(int m, int half) const {
    return tile.first + warp_row + place_of(2 * m + half, 0) + place_of(0, lane.row);
  }
  // From the first row of a tile on: what the lane's column i of the n-th eight stands for.
  [[nodiscard]] __device__ __forceinline__ int column_at(int n, int i) const { return places[i] + place_of(n, 0); }

  __device__ __forceinline__ void fetch_own(float* to, const FeatureRows& from, int rows, int width) const {
    fetch_rows<Sizes::features, Sizes::rows, pitch<Sizes::features>>(to, head_in(from), from.strides[2], tile.first, rows, width,
                                                                     heads.is_aligned);
  }
  __device__ __forceinline__ void fetch_other(float* to, const FeatureRows& from, int first, int rows, int width) const {
    fetch_rows<Sizes::features, Sizes::columns, pitch<Sizes::features>>(to, head_in(from), from.strides[2], first, rows, width,
                                                                        heads.is_aligned);
  }
  __device__ __forceinline__ void match(typename Sizes::Matches& sums, const float* own, const float* other, int width) const {
    match_rows<Sizes>(sums, own + warp_row * pitch<Sizes::features>, other, width, lane);
  }
  __device__ __forceinline__ void write(const typename Sizes::Totals& totals, const FeatureRows& to, int rows, int width) const {
    write_rows<Sizes>(totals, head_in(to), to.strides[2], tile.first + warp_row, rows, width, lane);
  }
};

inline constexpr int narrow_features = 64;
inline constexpr int wide_features = 128;

// What was fastest on an H200, and leaves room for two blocks on a multiprocessor.
template <bool exact, int features>
struct SizesOf {
  using Forward = TileSizes<exact, features, 2, features == narrow_features ? 64 : 32>;
  using Back = TileSizes<exact, features, features == narrow_features ? 2 : 1, 32>;
};

template <class Sizes>
constexpr unsigned shared_bytes_of(int own_tiles) {
  return static_cast<unsigned>(own_tiles * Sizes::own_floats + 2 * Sizes::other_floats) * sizeof(float);
}

template <class Sizes>
Grid tiled_grid(const TiledHeads& heads, int rows, int own_tiles) {
  const auto tiles = static_cast<unsigned>((rows + Sizes::rows - 1) / Sizes::rows);
  return {dim3(tiles * static_cast<unsigned>(heads.all_heads)), dim3(tile_threads), shared_bytes_of<Sizes>(own_tiles)};
}

template <class Body>
void with_sizes(const TiledHeads& heads, const Body& body) {
  const bool is_narrow = std::max(heads.features, heads.width) <= narrow_features;
  if (heads.tf32) {
    is_narrow ? body(SizesOf<false, narrow_features>{}) : body(SizesOf<false, wide_features>{});
  } else {
    is_narrow ? body(SizesOf<true, narrow_features>{}) : body(SizesOf<true, wide_features>{});
  }
}

}  // namespace tutti::kernels::cuda
