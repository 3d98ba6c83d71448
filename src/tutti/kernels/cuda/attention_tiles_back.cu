#include <algorithm>

#include "tutti/kernels/cuda/attention_tiles.cuh"

namespace tutti::kernels::cuda {

namespace {

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
  // Not a number times 0 where nothing is seen.
  [[nodiscard]] __device__ __forceinline__ float slope(float weight, float of_weight, float along, bool is_seen) const {
    return is_seen ? weight * (of_weight - along) * scale : 0.F;
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
            const bool is_seen = block.sight.sees(first + column, block.row_at(m, half));
            weight = known.of(weight, total, is_seen);
            slope = known.slope(weight, slope, part, is_seen);
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
          x = known.slope(weight, x, part[m][i / 2], is_seen);
        }
      }
    }
    add_weighted<Sizes>(of_query, slopes, keep, keys, heads.features, block.lane);
    __syncthreads();
    fetch_keys(first + Sizes::columns);
  }
  block.write(of_query, gradient.of_query, heads.queries, heads.features);
}

}  // namespace

void attend_tiled_back(const TiledHeads& heads, const TiledGradient& gradient, Queue& queue, const KernelCall& call) {
  const std::int64_t rows = std::int64_t{heads.all_heads} * heads.queries;
  const Grid along{dim3(static_cast<unsigned>(std::min<std::int64_t>((rows + tile_warps - 1) / tile_warps, 1 << 16))),
                   dim3(tile_threads)};
  launch<along_tiles>(queue, call, along, heads, gradient.out, gradient.given, gradient.along);
  with_sizes(heads, [&]<class Sizes>(Sizes) {
    using Back = typename Sizes::Back;
    launch<attend_tiles_back_to_keys<Back>>(queue, call, tiled_grid<Back>(heads, heads.keys, 2), heads, gradient);
    launch<attend_tiles_back_to_queries<Back>>(queue, call, tiled_grid<Back>(heads, heads.queries, 2), heads, gradient);
  });
}

}  // namespace tutti::kernels::cuda
