// Attention of f32 in one kernel, its gradient in three, over tiles of queries and keys: weights stay in registers, products run
// on tensor cores.
#pragma once

#include "tutti/kernels/cuda/feature_rows.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

struct TiledHeads {
  FeatureRows query;
  FeatureRows key;
  FeatureRows value;
  int heads = 0;  // of one batch
  int all_heads = 0;
  int queries = 0;
  int keys = 0;
  int features = 0;
  int width = 0;  // features of a value
  float scale = 1;
  bool causal = false;
  bool tf32 = false;        // inputs of products are rounded
  bool is_aligned = false;  // every row of an input begins where 16 bytes do
  const std::uint8_t* mask = nullptr;
  std::int64_t mask_strides[4] = {};  // 0 where it is shared
};

// Both sizes of features are at most these, and the GPU has what the kernels ask for.
inline constexpr std::int64_t most_tiled_features = 128;
bool takes_tiled_heads(const tutti::cuda::Properties& gpu);

// To each query's result and the logarithm of its sum of weights.
void attend_tiled(const TiledHeads& heads, const FeatureRows& out, float* stats, Queue& queue, const KernelCall& call);

struct TiledGradient {
  FeatureRows out;
  FeatureRows given;  // the gradient of the result
  const float* stats;
  float* along;  // scratch: a number for each query of all heads
  FeatureRows of_query;
  FeatureRows of_key;
  FeatureRows of_value;
};
void attend_tiled_back(const TiledHeads& heads, const TiledGradient& gradient, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
