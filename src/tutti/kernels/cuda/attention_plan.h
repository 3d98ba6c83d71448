// cuDNN's plans for attention in half precision, one for each shape, layout and device, kept for the next call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "tutti/kernels/cuda/cudnn_plan.h"

namespace tutti::kernels::cuda {

// (batch, heads, places, features)
struct AttentionTensor {
  std::array<std::int64_t, 4> sizes{};
  std::array<std::int64_t, 4> strides{};
};

struct AttentionKey {
  AttentionTensor query;
  AttentionTensor key;
  AttentionTensor value;
  AttentionTensor out;
  AttentionTensor given;  // of the gradient: that of the result
  AttentionTensor bias;   // added to how well queries match keys; empty where there is none
  int ordinal = 0;
  DType dtype{};
  bool causal = false;
  bool is_gradient = false;
  bool deterministic = true;
};

// Null: cuDNN is not there or has no engine for it. Chooses where the key is new, which may block; launches nothing. The device
// is current.
std::shared_ptr<const CudnnPlan> attention_plan(const AttentionKey& key, Site site);

// The operands' names in a plan. The last three are numbers of the host's. `sums` is memory where blocks add up the gradient of
// the queries, in whatever order they come: zero before, floats as many as queries and features. Only where a key is not
// deterministic.
struct AttentionUids {
  static constexpr std::int64_t query = 1, key = 2, value = 3, out = 4, stats = 5, given = 6, of_query = 7, of_key = 8,
                                of_value = 9, bias = 10, sums = 11, scale = 12, unseen = 13, one = 14;
};

}  // namespace tutti::kernels::cuda
