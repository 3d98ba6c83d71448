// Axes and elements in another arrangement. Those that can be views are; the others copy once.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tutti/ops/indexing.h"
#include "tutti/ops/tensor_arg.h"
#include "tutti/ops/views.h"

namespace tutti {

// --- Views ---

// All of them in the shape they broadcast to.
std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors, Site site = {});
inline std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& tensors, Site site = {}) {
  return broadcast_arrays(std::span(tensors), site);
}

// With new axes of size 1, which are these of the result; -1: the last.
Tensor expand_dims(const Tensor& x, const Dims& axes = 0, Site site = {});
// Without these axes, which must have size 1; without all that have it.
Tensor squeeze(const Tensor& x, const Dims& axes, Site site = {});
Tensor squeeze(const Tensor& x, Site site = {});

// Backwards along these axes; along all.
Tensor flip(const Tensor& x, const Dims& axes, Site site = {});
Tensor flip(const Tensor& x, Site site = {});

// The axes `from` at the places `to`, the others in order around them.
Tensor moveaxis(const Tensor& x, const Dims& from, const Dims& to, Site site = {});

// The last two axes swapped.
Tensor matrix_transpose(const Tensor& x, Site site = {});

// One tensor for each index along the axis, which is gone.
std::vector<Tensor> unstack(const Tensor& x, std::int64_t axis = 0, Site site = {});

// So many parts of equal size along the axis.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, std::int64_t axis = 0, Site site = {});
// Cut before each of these indices, which count like those of a slice.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& indices, std::int64_t axis = 0, Site site = {});
inline std::vector<Tensor> split(const Tensor& x, std::initializer_list<std::int64_t> indices, std::int64_t axis = 0,
                                 Site site = {}) {
  return split(x, std::vector(indices), axis, site);  // or split(x, {1}) would be one part
}

// --- Copies ---

// One after the other along an existing axis; without an axis: all elements in a row. Dtypes promote.
Tensor concat(std::span<const Tensor> tensors, std::optional<std::int64_t> axis = 0, Site site = {});
inline Tensor concat(const std::vector<Tensor>& tensors, std::optional<std::int64_t> axis = 0, Site site = {}) {
  return concat(std::span(tensors), axis, site);
}
// Side by side along a new axis. Dtypes promote.
Tensor stack(std::span<const Tensor> tensors, std::int64_t axis = 0, Site site = {});
inline Tensor stack(const std::vector<Tensor>& tensors, std::int64_t axis = 0, Site site = {}) {
  return stack(std::span(tensors), axis, site);
}

// Moved on by so many places; what leaves at the end comes in at the front.
Tensor roll(const Tensor& x, std::int64_t shift, Site site = {});
// A shift for each axis.
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& axes, Site site = {});

// Each element so many times in a row, along the axis; without an axis: all elements in a row.
Tensor repeat(const Tensor& x, std::int64_t times, std::optional<std::int64_t> axis = {}, Site site = {});
// The whole, so many times along each axis; the shorter of shape and repetitions is filled up with ones in front.
Tensor tile(const Tensor& x, const Dims& repetitions, Site site = {});

struct PadWidth {
  std::int64_t before = 0;
  std::int64_t after = 0;
};
// Value, one number or element, before and behind along each axis. One width stands for all axes.
Tensor pad(const Tensor& x, const std::vector<PadWidth>& widths, TensorArg value = 0, Site site = {});
// The same width everywhere.
template <std::integral T>
Tensor pad(const Tensor& x, T width, TensorArg value = 0, Site site = {}) {
  const auto both = static_cast<std::int64_t>(width);
  return pad(x, {{both, both}}, value, site);
}

}  // namespace tutti
