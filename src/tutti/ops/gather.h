// Picking elements by index, along an axis. Indices are integers; negative ones count from the end. One that is out of range
// spoils the result: reading it throws, with the site of the call.
#pragma once

#include <span>

#include "tutti/tensor/tensor.h"

namespace tutti {

// Elements of x along the axis at these indices, which may have any shape.
Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis = 0, Site site = {});
// The same with indices of one axis.
Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& indices, Site site = {});
// out[i][j] = x[indices[i][j]][j] for axis 0: an index for each element. The other axes of both broadcast.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::int64_t axis = -1, Site site = {});
// The same without broadcasting: the result has the shape of the indices, which cover x from its start.
Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& indices, Site site = {});

namespace detail {
// As another function, for errors.
Tensor take_as(const char* function, const Tensor& x, const Tensor& indices, std::int64_t axis, Site site);
// x is outer ... x indexed ... x inner ...; the index tensors have one shape. `names`: of the indexed axes, for messages.
Tensor gather_nd(const char* function, const Tensor& x, std::size_t first, std::span<const Tensor> indices,
                 std::span<const std::int8_t> names, Site site);
}  // namespace detail

}  // namespace tutti
