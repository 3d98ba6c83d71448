// Attention: every place of a sequence looks at others, weighted by how well they match.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti {

struct ScaledDotProductOptions {
  bool causal = false;       // a query sees the keys up to its own place
  Tensor mask = {};          // bool, broadcast to (..., queries, keys): where it holds, a query sees the key
  std::int64_t chunk = 512;  // so many queries are worked on at a time: what memory grows with, times the keys
};

// softmax(query @ key^T / sqrt(features)) @ value, for (..., places, features). Of the matrix of weights, which has a row for
// each query and a column for each key, only a strip is there at a time, for the gradient too.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const ScaledDotProductOptions& options = {}, Site site = {});

}  // namespace tutti
