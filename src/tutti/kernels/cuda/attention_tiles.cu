#include "tutti/kernels/cuda/attention_tiles.h"

#include <algorithm>

#include "tutti/kernels/cuda/attention_tiles.cuh"

namespace tutti::kernels::cuda {

namespace {

constexpr int narrow = 64;
constexpr int wide = 128;

// What was fastest on an H200, and leaves room for two blocks on a multiprocessor.
template <bool exact, int features>
struct SizesOf {
  using Forward = TileSizes<exact, features, 2, features == narrow ? 64 : 32>;
  using Back = TileSizes<exact, features, features == narrow ? 2 : 1, 32>;
};

template <class Sizes>
constexpr unsigned bytes_of(int own_tiles) {
  return static_cast<unsigned>(own_tiles * Sizes::own_floats + 2 * Sizes::other_floats) * sizeof(float);
}

template <class Sizes>
Grid grid_of(const TiledHeads& heads, int rows, int own_tiles) {
  const auto tiles = static_cast<unsigned>((rows + Sizes::rows - 1) / Sizes::rows);
  return {dim3(tiles * static_cast<unsigned>(heads.all_heads)), dim3(tile_threads), bytes_of<Sizes>(own_tiles)};
}

template <class Body>
void with_sizes(const TiledHeads& heads, const Body& body) {
  const bool is_narrow = std::max(heads.features, heads.width) <= narrow;
  if (heads.tf32) {
    is_narrow ? body(SizesOf<false, narrow>{}) : body(SizesOf<false, wide>{});
  } else {
    is_narrow ? body(SizesOf<true, narrow>{}) : body(SizesOf<true, wide>{});
  }
}

}  // namespace

bool takes_tiled_heads(const tutti::cuda::Properties& gpu) {
  constexpr unsigned most = std::max(bytes_of<SizesOf<true, wide>::Forward>(1), bytes_of<SizesOf<true, wide>::Back>(2));
  return gpu.major >= 8 && gpu.shared_bytes_per_block >= static_cast<int>(most);
}

void attend_tiled(const TiledHeads& heads, const FeatureRows& out, float* stats, Queue& queue, const KernelCall& call) {
  with_sizes(heads, [&]<class Sizes>(Sizes) {
    using Forward = typename Sizes::Forward;
    launch<attend_tiles<Forward>>(queue, call, grid_of<Forward>(heads, heads.queries, 1), heads, out, stats);
  });
}

void attend_tiled_back(const TiledHeads& heads, const TiledGradient& gradient, Queue& queue, const KernelCall& call) {
  const std::int64_t rows = std::int64_t{heads.all_heads} * heads.queries;
  const Grid along{dim3(static_cast<unsigned>(std::min<std::int64_t>((rows + tile_warps - 1) / tile_warps, 1 << 16))),
                   dim3(tile_threads)};
  launch<along_tiles>(queue, call, along, heads, gradient.out, gradient.given, gradient.along);
  with_sizes(heads, [&]<class Sizes>(Sizes) {
    using Back = typename Sizes::Back;
    launch<attend_tiles_back_to_keys<Back>>(queue, call, grid_of<Back>(heads, heads.keys, 2), heads, gradient);
    launch<attend_tiles_back_to_queries<Back>>(queue, call, grid_of<Back>(heads, heads.queries, 2), heads, gradient);
  });
}

}  // namespace tutti::kernels::cuda
