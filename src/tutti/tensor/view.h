// Views: other shapes and strides over the same buffer. None of them copies or runs anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tutti/tensor/axes.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// Python's start:stop:step along one axis; a step may be negative, an absent end means "as far as it goes".
struct Range {
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> stop = {};
  std::int64_t step = 1;
};

Tensor slice(const Tensor& x, std::int64_t axis, const Range& range, Site site = {});
// Axis i of the result is axis axes[i] of x.
Tensor permute_dims(const Tensor& x, const Dims& axes, Site site = {});
// All axes reversed; two axes swapped, as in PyTorch; or, as in NumPy, what permute_dims does.
Tensor transpose(const Tensor& x, Site site = {});
Tensor transpose(const Tensor& x, std::int64_t axis1, std::int64_t axis2, Site site = {});
inline Tensor transpose(const Tensor& x, const Dims& axes, Site site = {}) { return permute_dims(x, axes, site); }
// Axes of size 1, and axes that are not there in front, grow to what the shape says.
Tensor broadcast_to(const Tensor& x, const Shape& shape, Site site = {});

struct DiagonalOptions {
  std::int64_t offset = 0;  // above the main diagonal; below it when negative
  std::int64_t axis1 = -2;  // rows
  std::int64_t axis2 = -1;  // columns
};
// The elements at (i, i + offset) of two axes, as the last axis, behind the others.
Tensor diagonal(const Tensor& x, const DiagonalOptions& options = {}, Site site = {});

// The same elements in row order under another shape, if strides allow it without a copy. `shape` has no -1.
std::optional<Tensor> try_reshape(const Tensor& x, const Shape& shape);
// Replaces one -1 by what is left; throws ShapeError when the counts do not match.
Shape resolve_reshape(const Shape& from, const Shape& to, Site site);

// Where a range falls on an axis of some size.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;  // 1 where there are fewer than two elements
};
Stretch resolve_range(const Range& range, std::int64_t size, Site site);

}  // namespace tutti
