// Running sums and products along an axis.
#pragma once

#include <cstdint>
#include <optional>

#include "tutti/tensor/tensor.h"

namespace tutti {

struct CumulativeSumOptions {
  std::optional<DType> dtype = {};  // absent: int64 for bools and integers, the same for floats
  bool include_initial = false;     // the result begins with 0 and is one longer along the axis
};

// The sums of the first one, two, ... elements. Integers wrap; half precision is added in float32.
Tensor cumulative_sum(const Tensor& x, std::int64_t axis, const CumulativeSumOptions& options = {}, Site site = {});
// Where there is but one axis.
Tensor cumulative_sum(const Tensor& x, const CumulativeSumOptions& options = {}, Site site = {});
Tensor cumsum(const Tensor& x, std::int64_t axis, Site site = {});
// The products of the first one, two, ... elements; dtypes as for sums.
Tensor cumprod(const Tensor& x, std::int64_t axis, Site site = {});

}  // namespace tutti
