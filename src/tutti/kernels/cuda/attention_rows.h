// What attention does to the rows of a strip of weights, between its products.
#pragma once

#include "tutti/exec/attention_attributes.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Rows of `keys` elements for queries first ... first + count - 1 of every head, heads after heads of a batch.
struct WeightStrip {
  std::int64_t heads;  // of one batch
  std::int64_t all_heads;
  std::int64_t queries;
  std::int64_t first;
  std::int64_t count;
  std::int64_t keys;
  AttentionAttributes attributes;
  const std::uint8_t* mask = nullptr;
  std::int64_t mask_strides[4] = {};  // 0 where it is shared
};

// From how well queries match to weights: the softmax of each row; its logarithm of the sum goes to stats.
void weigh(const WeightStrip& strip, std::byte* match, std::byte* stats, DType dtype, Queue& queue, const KernelCall& call);
// The same by sums that are known.
void weigh_again(const WeightStrip& strip, std::byte* match, const std::byte* stats, DType dtype, Queue& queue,
                 const KernelCall& call);
// slopes: the gradient of the weights in, that of the match out. `out` and `given` are dense strips of `width` features.
void slope(const WeightStrip& strip, const std::byte* weights, std::byte* slopes, const std::byte* out, const std::byte* given,
           std::int64_t width, DType dtype, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
