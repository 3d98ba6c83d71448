// Which axis of a tensor becomes which of its view: arithmetic on the host, for tensors and sharded tensors alike. In a list that
// is returned, entry i says which axis of the tensor axis i of the view is. Axes that make no sense throw, with the site and the
// function that was called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/tensor/shape.h"

namespace tutti {

// Negative axes count from the end.
std::size_t checked_axis(const char* function, std::int64_t axis, std::size_t rank, Site site);

namespace detail {

// Which of the axes are named; each may be named once.
std::array<bool, most_axes> named_axes(const char* function, const Dims& axes, std::size_t rank, Site site);

Dims permuted_axes(const char* function, const Shape& shape, const Dims& axes, Site site);
Dims reversed_axes(std::size_t rank);
Dims swapped_axes(std::size_t rank, std::int64_t axis1, std::int64_t axis2, Site site);
Dims moved_axes(std::size_t rank, const Dims& from, const Dims& to, Site site);

inline constexpr std::int64_t new_axis_mark = -1;
// New axes are marked.
Dims expanded_axes(const Shape& shape, const Dims& axes, Site site);
// Without these axes, which must have size 1.
Dims squeezed_axes(const Shape& shape, const Dims& axes, Site site);
// The axes that have size 1.
Dims single_axes(const Shape& shape);

// Where an axis is cut to give so many parts of equal size.
std::vector<std::int64_t> equal_cuts(const Shape& shape, std::int64_t parts, std::int64_t axis, Site site);
// The shape that `common` and one more shape broadcast to.
Shape broadcast_together(const char* function, const Shape& common, const Shape& shape, Site site);

}  // namespace detail

}  // namespace tutti
