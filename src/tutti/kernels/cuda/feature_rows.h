// Rows of contiguous features, a row for each batch, head and place, in any layout of these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::kernels::cuda {

struct FeatureRows {
  std::byte* data;
  std::int64_t strides[3];  // of batches, heads and rows, in elements
};

}  // namespace tutti::kernels::cuda
