#include "tutti/tensor/axes.h"

#include <optional>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

std::size_t checked_axis(const char* function, std::int64_t axis, std::size_t rank, Site site) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis < -axes || axis >= axes) {
    throw ShapeError(
        text(function, ": axis ", axis, " does not exist in a tensor with ", rank, " axes; use ", -axes, " to ", axes - 1), site);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

namespace detail {

namespace {

Dims all_axes_of(std::size_t rank) {
  Dims out;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(static_cast<std::int64_t>(i));
  return out;
}

}  // namespace

std::array<bool, most_axes> named_axes(const char* function, const Dims& axes, std::size_t rank, Site site) {
  std::array<bool, most_axes> out{};
  for (const std::int64_t axis : axes) {
    bool& is_named = out[checked_axis(function, axis, rank, site)];
    if (is_named) throw ShapeError(text(function, ": axis ", axis, " is given twice in ", to_string(axes)), site);
    is_named = true;
  }
  return out;
}

Dims permuted_axes(const char* function, const Shape& shape, const Dims& axes, Site site) {
  if (axes.size() != shape.size()) {
    throw ShapeError(text(function, " got the axes ", to_string(axes), " for a tensor of shape ", to_string(shape),
                          "; name each of its axes once"),
                     site);
  }
  named_axes(function, axes, shape.size(), site);
  Dims out;
  for (const std::int64_t axis : axes) out.push_back(static_cast<std::int64_t>(checked_axis(function, axis, shape.size(), site)));
  return out;
}

Dims reversed_axes(std::size_t rank) {
  Dims out;
  for (std::size_t i = rank; i-- > 0;) out.push_back(static_cast<std::int64_t>(i));
  return out;
}

Dims swapped_axes(std::size_t rank, std::int64_t axis1, std::int64_t axis2, Site site) {
  Dims out = all_axes_of(rank);
  std::swap(out[checked_axis("transpose", axis1, rank, site)], out[checked_axis("transpose", axis2, rank, site)]);
  return out;
}

Dims moved_axes(std::size_t rank, const Dims& from, const Dims& to, Site site) {
  if (from.size() != to.size()) {
    throw InvalidArgument(
        text("moveaxis got ", from.size(), " axes ", to_string(from), " and ", to.size(), " places ", to_string(to)), site);
  }
  const auto is_moved = named_axes("moveaxis", from, rank, site);
  const auto is_taken = named_axes("moveaxis", to, rank, site);
  Dims out = all_axes_of(rank);
  for (std::size_t i = 0; i < from.size(); ++i)
    out[checked_axis("moveaxis", to[i], rank, site)] = static_cast<std::int64_t>(checked_axis("moveaxis", from[i], rank, site));
  std::size_t at = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (is_moved[i]) continue;
    while (is_taken[at]) ++at;
    out[at++] = static_cast<std::int64_t>(i);
  }
  return out;
}

Dims expanded_axes(const Shape& shape, const Dims& axes, Site site) {
  const std::size_t rank = shape.size() + axes.size();
  if (rank > most_axes) {
    throw ShapeError(text("expand_dims: a tensor has at most ", most_axes, " axes; the shape ", to_string(shape), " and ",
                          axes.size(), " more make ", rank),
                     site);
  }
  const auto is_new = named_axes("expand_dims", axes, rank, site);
  Dims out;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(is_new[i] ? new_axis_mark : next++);
  return out;
}

Dims squeezed_axes(const Shape& shape, const Dims& axes, Site site) {
  const auto is_gone = named_axes("squeeze", axes, shape.size(), site);
  Dims out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_gone[i]) {
      out.push_back(static_cast<std::int64_t>(i));
    } else if (shape[i] != 1) {
      throw ShapeError(text("squeeze: axis ", i, " of the shape ", to_string(shape), " has not size 1"), site);
    }
  }
  return out;
}

Dims single_axes(const Shape& shape) {
  Dims out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

std::vector<std::int64_t> equal_cuts(const Shape& shape, std::int64_t parts, std::int64_t axis, Site site) {
  const std::int64_t size = shape[checked_axis("split", axis, shape.size(), site)];
  if (parts < 1 || size % parts != 0) {
    throw ShapeError(
        text("split: axis ", axis, " of the shape ", to_string(shape), " cannot be cut into ", parts, " parts of equal size"),
        site);
  }
  std::vector<std::int64_t> out;
  for (std::int64_t i = 1; i < parts; ++i) out.push_back(i * (size / parts));
  return out;
}

Shape broadcast_together(const char* function, const Shape& common, const Shape& shape, Site site) {
  const std::optional<Shape> both = broadcast(common, shape);
  if (!both) {
    throw ShapeError(text(function, ": the shape ", to_string(shape), " does not broadcast with ", to_string(common)), site);
  }
  return *both;
}

}  // namespace detail

}  // namespace tutti
