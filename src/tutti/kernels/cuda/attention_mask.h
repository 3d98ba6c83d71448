// What cuDNN's attention is given for a mask, numbers added to how well queries match keys, and what it then does not do: a query
// that sees no key weighs all of them alike, and passes nothing on to its match.
#pragma once

#include "tutti/kernels/cuda/feature_rows.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// A row of `keys` elements for each batch, head and query. Where its size is 1 they share one.
struct AttentionMask {
  const std::uint8_t* seen = nullptr;
  std::int64_t sizes[3] = {};    // batches, heads, queries
  std::int64_t strides[4] = {};  // 0 where it is shared
  std::int64_t batches = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  bool causal = false;
  // In scratch memory:
  std::byte* bias = nullptr;           // halves, row by row
  std::int64_t* first_seen = nullptr;  // of each row; `keys` where none is

  [[nodiscard]] constexpr std::int64_t rows() const { return sizes[0] * sizes[1] * sizes[2]; }
  [[nodiscard]] constexpr std::int64_t row_size() const { return (keys + 7) / 8 * 8; }  // each begins where 16 bytes do
};

// Fills the mask's scratch memory. The dtype is that of the bias, a half.
void write_bias(const AttentionMask& mask, DType dtype, Queue& queue, const KernelCall& call);
// After the forward plan: queries that see no key get the mean of the values, and their sum.
void average_blind(const AttentionMask& mask, const FeatureRows& value, const FeatureRows& out, float* stats, std::int64_t width,
                   DType dtype, Queue& queue, const KernelCall& call);
// Before the gradient's: with sums so large that all weights of such queries are 0.
void hide_blind(const AttentionMask& mask, const float* stats, float* to, Queue& queue, const KernelCall& call);
// After it: what they add to the gradient of the values.
void add_blind(const AttentionMask& mask, const FeatureRows& given, const FeatureRows& of_value, std::int64_t width, DType dtype,
               Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
