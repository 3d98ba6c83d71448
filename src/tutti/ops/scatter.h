// Changing places of a tensor that indices name. The result is a new tensor; one given away with std::move may be changed in
// place. The outcome is the same on every run: of several values for one place the last in row-major order is set, and sums are
// added up in that order. Minimum and maximum: NaN wins, and -0 is less than 0.
#pragma once

#include <span>

#include "tutti/exec/scatter_attributes.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

struct ScatterOptions {
  ScatterMode mode = ScatterMode::set;
};

// result[indices[i][j]][j] = values[i][j] for axis 0, or added and so on: an index for each value. The indices have as many axes
// as x and cover it from its start; the values broadcast to their shape.
Tensor scatter(TensorArg x, std::int64_t axis, const Tensor& indices, TensorArg values, const ScatterOptions& options = {},
               Site site = {});

namespace detail {
// Values as a tensor of that dtype, broadcast to `places` but where they are one. Throws where dtype or shape do not allow it.
Tensor values_for(const char* function, const Tensor& values, DType dtype, const Shape& places, Site site);
// The values are broadcast to `places`, the shape of what the attributes and indices name, and take the dtype of x.
Tensor scatter_values(const char* function, const TensorArg& x, const ScatterAttributes& attributes,
                      std::span<const Tensor> indices, const Shape& places, const TensorArg& values, Site site);
}  // namespace detail

}  // namespace tutti
