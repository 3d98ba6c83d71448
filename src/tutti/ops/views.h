// Views: other shapes and strides over the same elements. None of them copies or waits.
#pragma once

#include <cstdint>

#include "tutti/tensor/view.h"

namespace tutti {

Tensor slice(const Tensor& x, std::int64_t axis, const Range& range, Site site = {});
// Axis i of the result is axis axes[i] of x.
Tensor permute_dims(const Tensor& x, const Dims& axes, Site site = {});
// All axes reversed; two axes swapped, as in PyTorch; or, as in NumPy, what permute_dims does.
Tensor transpose(const Tensor& x, Site site = {});
Tensor transpose(const Tensor& x, std::int64_t axis1, std::int64_t axis2, Site site = {});
Tensor transpose(const Tensor& x, const Dims& axes, Site site = {});
// Axes of size 1, and axes that are not there in front, grow to what the shape says.
Tensor broadcast_to(const Tensor& x, const Shape& shape, Site site = {});

struct DiagonalOptions {
  std::int64_t offset = 0;  // above the main diagonal; below it when negative
  std::int64_t axis1 = -2;  // rows
  std::int64_t axis2 = -1;  // columns
};
// The elements at (i, i + offset) of two axes, as the last axis, behind the others.
Tensor diagonal(const Tensor& x, const DiagonalOptions& options = {}, Site site = {});

// The same elements in row-major order under another shape; one size may be -1: what is left. Copies them where strides do not
// allow a view.
Tensor reshape(const Tensor& x, const Shape& shape, Site site = {});

// The same elements, taken for a constant by whoever differentiates.
Tensor stop_gradient(const Tensor& x, Site site = {});

namespace detail {
// A tensor of its own over the same elements, for whoever tells tensors apart.
Tensor identity(const Tensor& x, Site site);
// For functions that are made of a reshape: a copy of it is theirs.
Tensor reshape_as(const char* function, const Tensor& x, const Shape& shape, Site site);
// A part whose axes the caller has worked out.
Tensor slice_by(const Tensor& x, const SliceAttributes& part, Site site);
}  // namespace detail

}  // namespace tutti
