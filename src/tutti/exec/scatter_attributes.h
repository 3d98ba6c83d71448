// The attribute struct of the ops that change places of a tensor.
#pragma once

#include <array>
#include <cstdint>

#include "tutti/exec/kernel.h"
#include "tutti/tensor/shape.h"

namespace tutti {

// What becomes of an element and the value that meets it. Minimum and maximum: NaN wins, -0 is less than 0.
enum class ScatterMode : std::uint8_t { set, add, multiply, minimum, maximum };

// The inputs are x, the values and an index tensor for each indexed axis. A region of the dense output is changed: its axes are
// outer ..., those that are indexed, inner ..., and the values have the axes of the index tensors in the place of the latter.
// `is_along`: one axis is indexed, and the index tensor has the axes of the region, with sizes of its own on that one alone.
// No index tensor: the values are as large as the region.
struct ScatterAttributes {
  std::int64_t offset = 0;  // of the region's first element, in elements
  std::array<Axis, most_axes> axes{};
  std::array<std::int8_t, most_axes> names{};  // of the indexed axes, as the caller counts them
  std::int8_t rank = 0;
  std::int8_t first = 0;  // the first indexed axis
  bool is_along = false;
  ScatterMode mode = ScatterMode::set;
};

}  // namespace tutti
