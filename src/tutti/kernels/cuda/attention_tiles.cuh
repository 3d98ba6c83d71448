// The kernels of attention over tiles of rows.
#pragma once

#include "tutti/exec/attention_attributes.h"
#include "tutti/kernels/cuda/attention_tiles.h"
#include "tutti/kernels/cuda/row_tiles.cuh"

namespace tutti::kernels::cuda {

inline constexpr float log2_of_e = 1.44269504F;
inline constexpr float log_of_2 = 0.693147181F;

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
  int query_stride;
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

// Over the four lanes that share a row.
__device__ __forceinline__ float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0U, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0U, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(~0U, x, 1);
  return x + __shfl_xor_sync(~0U, x, 2);
}

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

template <class Sizes>
__global__ void __launch_bounds__(tile_threads, 2) attend_tiles(TiledHeads heads, FeatureRows out, float* stats) {
  extern __shared__ __align__(16) float shared[];
  float* const queries = shared;
  float* const keys = queries + Sizes::own_floats;
  float* const values = keys + Sizes::other_floats;
  const Block<Sizes> block(heads, heads.queries, true);
  const Sight& sight = block.sight;
  const auto fetch_keys = [&](int first) {
    block.fetch_other(keys, heads.key, first, heads.keys, heads.features);
    __pipeline_commit();
  };
  const auto fetch_values = [&](int first) {
    block.fetch_other(values, heads.value, first, heads.keys, heads.width);
    __pipeline_commit();
  };
  block.fetch_own(queries, heads.query, heads.queries, heads.features);
  fetch_keys(0);
  fetch_values(0);

  // In powers of two: one multiplication less for each weight.
  const float scale = heads.scale * log2_of_e;
  typename Sizes::Totals totals;
  float largest[Sizes::row_tiles][2];
  float sums[Sizes::row_tiles][2] = {};
  float keep[Sizes::row_tiles][2];
#pragma unroll
  for (auto& each : largest) each[0] = each[1] = -INFINITY;
  const int reach = sight.skips() ? min(heads.keys, block.tile.first + Sizes::rows) : heads.keys;
  for (int first = 0; first < reach; first += Sizes::columns) {
    __pipeline_wait_prior(1);
    __syncthreads();
    typename Sizes::Matches match;
    block.match(match, queries, keys, heads.features);
    __syncthreads();
    fetch_keys(first + Sizes::columns);

    const bool all_seen = sight.mask == nullptr && first + Sizes::columns <= heads.keys &&
                          (!sight.causal || first + Sizes::columns - 1 <= block.tile.first + block.warp_row);
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int query = min(block.row_at(m, half), heads.queries - 1);
        float most = largest[m][half];
#pragma unroll
        for (int n = 0; n < Sizes::columns / 8; ++n) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float& x = match[m][n].of[2 * half + i];
            x *= scale;
            if (!all_seen) {
              const int key = first + block.column_at(n, i);
              if (!sight.sees(query, key)) x = sight.mask != nullptr && key < heads.keys ? unseen_match : -INFINITY;
            }
            most = fmaxf(most, x);
          }
        }
        most = largest_of_row(most);
        keep[m][half] = power_of_2(largest[m][half] - most);
        largest[m][half] = most;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < Sizes::columns / 8; ++n) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float& x = match[m][n].of[2 * half + i];
            x = power_of_2(x - most);
            sum += x;
          }
        }
        sums[m][half] = sums[m][half] * keep[m][half] + sum;
      }
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    add_weighted<Sizes>(totals, match, keep, values, heads.width, block.lane);
    __syncthreads();
    fetch_values(first + Sizes::columns);
  }

#pragma unroll
  for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = sum_of_row(sums[m][half]);
#pragma unroll
      for (auto& each : totals[m]) {
        each.of[2 * half] /= sum;
        each.of[2 * half + 1] /= sum;
      }
      const int query = block.row_at(m, half);
      if (block.lane.column == 0 && query < heads.queries) {
        const float most = largest[m][half];
        stats[std::int64_t{block.tile.head_of_all} * heads.queries + query] =
            most <= unseen_match ? unseen_match : (most + log2f(sum)) * log_of_2;
      }
    }
  }
  block.write(totals, out, heads.queries, heads.width);
}

// Of each query: its result times the gradient of that. A warp takes one.
__global__ void __launch_bounds__(tile_threads) along_tiles(TiledHeads heads, FeatureRows out, FeatureRows given, float* along) {
  const std::int64_t count = std::int64_t{heads.all_heads} * heads.queries;
  const std::int64_t step = std::int64_t{gridDim.x} * tile_warps;
  for (std::int64_t row = std::int64_t{blockIdx.x} * tile_warps + threadIdx.x / 32; row < count; row += step) {
    const std::int64_t head = row / heads.queries;
    const std::int64_t query = row % heads.queries;
    const float* const a = head_of(out, head / heads.heads, head % heads.heads) + query * out.strides[2];
    const float* const b = head_of(given, head / heads.heads, head % heads.heads) + query * given.strides[2];
    float sum = 0;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < heads.width; i += 32) sum += a[i] * b[i];
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0U, sum, lanes);
    if (threadIdx.x % 32 == 0) along[row] = sum;
  }
}

// Weights again, by a query's `total`, the logarithm of its sum; and from the gradient of a weight that of its match.
struct Weights {
  float scale;      // of matches
  float all_alike;  // the weight where a query sees no key

  __device__ explicit Weights(const TiledHeads& heads) : scale(heads.scale), all_alike(1.F / static_cast<float>(heads.keys)) {}
  [[nodiscard]] __device__ __forceinline__ float of(float match, float total, bool is_seen) const {
    if (!is_seen) return total <= unseen_match ? all_alike : 0.F;
    return power_of_2((match * scale - total) * log2_of_e);
  }
  [[nodiscard]] __device__ __forceinline__ float slope(float weight, float of_weight, float total, float along) const {
    return total <= unseen_match ? 0.F : weight * (of_weight - along) * scale;
  }
};

// The gradients of keys and values: tiles of keys are kept, queries go by. Rows are keys, columns queries.
template <class Sizes>
__global__ void __launch_bounds__(tile_threads, 2) attend_tiles_back_to_keys(TiledHeads heads, TiledGradient gradient) {
  extern __shared__ __align__(16) float shared[];
  float* const keys = shared;
  float* const values = keys + Sizes::own_floats;
  float* const queries = values + Sizes::own_floats;
  float* const given = queries + Sizes::other_floats;
  const Block<Sizes> block(heads, heads.keys, false);
  const std::int64_t first_stat = std::int64_t{block.tile.head_of_all} * heads.queries;
  const auto fetch_queries = [&](int first) {
    block.fetch_other(queries, heads.query, first, heads.queries, heads.features);
    block.fetch_other(given, gradient.given, first, heads.queries, heads.width);
    __pipeline_commit();
  };
  block.fetch_own(keys, heads.key, heads.keys, heads.features);
  block.fetch_own(values, heads.value, heads.keys, heads.width);
  const int begin = block.sight.skips() ? block.tile.first / Sizes::columns * Sizes::columns : 0;
  fetch_queries(begin);

  const Weights known(heads);
  typename Sizes::Totals of_key;
  typename Sizes::Totals of_value;
  float keep[Sizes::row_tiles][2];
#pragma unroll
  for (auto& each : keep) each[0] = each[1] = 1;
  for (int first = begin; first < heads.queries; first += Sizes::columns) {
    __pipeline_wait_prior(0);
    __syncthreads();
    const float* const totals = gradient.stats + first_stat + first;
    const float* const along = gradient.along + first_stat + first;
    typename Sizes::Matches weights;
    typename Sizes::Matches slopes;
    block.match(weights, keys, queries, heads.features);
    block.match(slopes, values, given, heads.width);
#pragma unroll
    for (int n = 0; n < Sizes::columns / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = block.column_at(n, i);
        const bool is_query = first + column < heads.queries;
        const float total = is_query ? totals[column] : 0.F;
        const float part = is_query ? along[column] : 0.F;
#pragma unroll
        for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float& weight = weights[m][n].of[2 * half + i];
            float& slope = slopes[m][n].of[2 * half + i];
            weight = known.of(weight, total, block.sight.sees(first + column, block.row_at(m, half)));
            slope = known.slope(weight, slope, total, part);
          }
        }
      }
    }
    add_weighted<Sizes>(of_value, weights, keep, given, heads.width, block.lane);
    add_weighted<Sizes>(of_key, slopes, keep, queries, heads.features, block.lane);
    __syncthreads();
    fetch_queries(first + Sizes::columns);
  }
  block.write(of_key, gradient.of_key, heads.keys, heads.features);
  block.write(of_value, gradient.of_value, heads.keys, heads.width);
}

// The gradient of queries: tiles of those are kept, keys go by.
template <class Sizes>
__global__ void __launch_bounds__(tile_threads, 2) attend_tiles_back_to_queries(TiledHeads heads, TiledGradient gradient) {
  extern __shared__ __align__(16) float shared[];
  float* const queries = shared;
  float* const given = queries + Sizes::own_floats;
  float* const keys = given + Sizes::own_floats;
  float* const values = keys + Sizes::other_floats;
  const Block<Sizes> block(heads, heads.queries, true);
  const auto fetch_keys = [&](int first) {
    block.fetch_other(keys, heads.key, first, heads.keys, heads.features);
    block.fetch_other(values, heads.value, first, heads.keys, heads.width);
    __pipeline_commit();
  };
  block.fetch_own(queries, heads.query, heads.queries, heads.features);
  block.fetch_own(given, gradient.given, heads.queries, heads.width);
  fetch_keys(0);

  const Weights known(heads);
  typename Sizes::Totals of_query;
  float keep[Sizes::row_tiles][2];
  float total[Sizes::row_tiles][2];
  float part[Sizes::row_tiles][2];
#pragma unroll
  for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t at =
          std::int64_t{block.tile.head_of_all} * heads.queries + min(block.row_at(m, half), heads.queries - 1);
      keep[m][half] = 1;
      total[m][half] = gradient.stats[at];
      part[m][half] = gradient.along[at];
    }
  }
  const int reach = block.sight.skips() ? min(heads.keys, block.tile.first + Sizes::rows) : heads.keys;
  for (int first = 0; first < reach; first += Sizes::columns) {
    __pipeline_wait_prior(0);
    __syncthreads();
    typename Sizes::Matches weights;
    typename Sizes::Matches slopes;
    block.match(weights, queries, keys, heads.features);
    block.match(slopes, given, values, heads.width);
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m) {
#pragma unroll
      for (int n = 0; n < Sizes::columns / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool is_seen = block.sight.sees(block.row_at(m, i / 2), first + block.column_at(n, i % 2));
          const float weight = known.of(weights[m][n].of[i], total[m][i / 2], is_seen);
          float& x = slopes[m][n].of[i];
          x = known.slope(weight, x, total[m][i / 2], part[m][i / 2]);
        }
      }
    }
    add_weighted<Sizes>(of_query, slopes, keep, keys, heads.features, block.lane);
    __syncthreads();
    fetch_keys(first + Sizes::columns);
  }
  block.write(of_query, gradient.of_query, heads.queries, heads.features);
}

}  // namespace tutti::kernels::cuda
