// The distinct elements of a tensor, sorted. Its shape is ignored; NaNs are all distinct, -0 equals +0.
#pragma once

#include "tutti/ops/tensor_arg.h"

namespace tutti {

// Makes the size of the result known at the call, so that nobody waits for it: as many elements as `size`, the last ones left
// out or `fill` (a number) put in; counts are then 0, indices -1. The inverse is that of all distinct elements.
struct UniqueSize {
  std::int64_t size = 0;
  TensorArg fill = 0;
};

// `count`: how many distinct elements there are, an int64 on the device. All indices and counts are int64.
struct UniqueValues {
  Tensor values;
  Tensor count;
};
struct UniqueCounts {
  Tensor values;
  Tensor counts;
  Tensor count;
};
struct UniqueInverse {
  Tensor values;
  Tensor inverse_indices;  // of x's shape: which of the values each element is
  Tensor count;
};
struct UniqueAll {
  Tensor values;
  Tensor indices;  // of the first occurrence in row-major order
  Tensor inverse_indices;
  Tensor counts;
  Tensor count;
};

// The distinct elements, sorted. Without a size the host waits for their count.
Tensor unique_values(const Tensor& x, Site site = {});
UniqueCounts unique_counts(const Tensor& x, Site site = {});
UniqueInverse unique_inverse(const Tensor& x, Site site = {});
UniqueAll unique_all(const Tensor& x, Site site = {});

// The same, without a sync.
UniqueValues unique_values(const Tensor& x, const UniqueSize& size, Site site = {});
UniqueCounts unique_counts(const Tensor& x, const UniqueSize& size, Site site = {});
UniqueInverse unique_inverse(const Tensor& x, const UniqueSize& size, Site site = {});
UniqueAll unique_all(const Tensor& x, const UniqueSize& size, Site site = {});

}  // namespace tutti
