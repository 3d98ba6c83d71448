#include "tutti/kernels/cuda/attention_tiles.h"

#include <algorithm>
#include <iterator>

#include "tutti/kernels/cuda/attention_tiles.cuh"

namespace tutti::kernels::cuda {

namespace {

constexpr float log_of_2 = 0.693147181F;

// Over the four lanes that share a row.
__device__ __forceinline__ float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0U, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0U, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(~0U, x, 1);
  return x + __shfl_xor_sync(~0U, x, 2);
}

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
        const float from = most == -INFINITY ? 0.F : most;  // whose difference to itself is no number
        keep[m][half] = power_of_2(largest[m][half] - from);
        largest[m][half] = most;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < Sizes::columns / 8; ++n) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float& x = match[m][n].of[2 * half + i];
            x = power_of_2(x - from);
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

}  // namespace

bool takes_tiled_heads(const tutti::cuda::Properties& gpu) {
  // Code for GPUs before sm_80, which runs on later ones too, has no such products.
  constexpr int compiled_for[] = {__CUDA_ARCH_LIST__};
  const int own = 100 * gpu.major + 10 * gpu.minor;
  const bool has_products =
      std::any_of(std::begin(compiled_for), std::end(compiled_for), [&](int each) { return each >= 800 && each <= own; });
  constexpr unsigned most =
      std::max(shared_bytes_of<SizesOf<true, wide_features>::Forward>(1), shared_bytes_of<SizesOf<true, wide_features>::Back>(2));
  return has_products && gpu.shared_bytes_per_block >= static_cast<int>(most);
}

void attend_tiled(const TiledHeads& heads, const FeatureRows& out, float* stats, Queue& queue, const KernelCall& call) {
  with_sizes(heads, [&]<class Sizes>(Sizes) {
    using Forward = typename Sizes::Forward;
    launch<attend_tiles<Forward>>(queue, call, tiled_grid<Forward>(heads, heads.queries, 1), heads, out, stats);
  });
}

}  // namespace tutti::kernels::cuda
