// The part of manipulation.h that only looks at elements in another way.
#include <algorithm>
#include <array>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/manipulation.h"

namespace tutti {

namespace {

// Which of the axes are named; each may be named once.
std::array<bool, most_axes> named(const char* function, const Dims& axes, std::size_t rank, Site site) {
  std::array<bool, most_axes> out{};
  for (const std::int64_t axis : axes) {
    bool& is_named = out[checked_axis(axis, rank, site)];
    if (is_named) throw ShapeError(text(function, ": axis ", axis, " is given twice in ", to_string(axes)), site);
    is_named = true;
  }
  return out;
}

Tensor part(const Tensor& x, std::size_t axis, std::int64_t start, std::int64_t stop, Site site) {
  return slice(x, static_cast<std::int64_t>(axis), {start, stop}, site);
}

}  // namespace

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors, Site site) {
  Shape common;
  for (const Tensor& x : tensors) {
    const std::optional<Shape> both = broadcast(common, x.shape(site));
    if (!both) {
      throw ShapeError(text("broadcast_arrays: the shape ", to_string(x.shape()), " does not broadcast with ", to_string(common)),
                       site);
    }
    common = *both;
  }
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(broadcast_to(x, common, site));
  return out;
}

Tensor expand_dims(const Tensor& x, std::int64_t axis, Site site) {
  const std::size_t at = checked_axis(axis, x.rank(site) + 1, site);
  Shape shape;
  for (std::size_t i = 0; i <= x.rank(); ++i) {
    if (i == at) shape.push_back(1, site);
    if (i < x.rank()) shape.push_back(x.shape()[i], site);
  }
  return *try_reshape(x, shape);
}

Tensor squeeze(const Tensor& x, const Dims& axes, Site site) {
  const auto is_gone = named("squeeze", axes, x.rank(site), site);
  Shape shape;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!is_gone[i]) {
      shape.push_back(x.shape()[i]);
    } else if (x.shape()[i] != 1) {
      throw ShapeError(text("squeeze: axis ", i, " of the shape ", to_string(x.shape()), " has not size 1"), site);
    }
  }
  return *try_reshape(x, shape);
}

Tensor flip(const Tensor& x, const std::optional<Dims>& axes, Site site) {
  std::array<bool, most_axes> is_named{};
  if (axes) {
    is_named = named("flip", *axes, x.rank(site), site);
  } else {
    is_named.fill(true);
  }
  Tensor out = x;
  for (std::size_t i = 0; i < x.rank(site); ++i) {
    if (is_named[i]) out = slice(out, static_cast<std::int64_t>(i), {{}, {}, -1}, site);
  }
  return out;
}

Tensor moveaxis(const Tensor& x, const Dims& from, const Dims& to, Site site) {
  const std::size_t rank = x.rank(site);
  if (from.size() != to.size()) {
    throw InvalidArgument(
        text("moveaxis got ", from.size(), " axes ", to_string(from), " and ", to.size(), " places ", to_string(to)), site);
  }
  const auto is_moved = named("moveaxis", from, rank, site);
  const auto is_taken = named("moveaxis", to, rank, site);
  Dims order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(0);
  for (std::size_t i = 0; i < from.size(); ++i)
    order[checked_axis(to[i], rank, site)] = static_cast<std::int64_t>(checked_axis(from[i], rank, site));
  std::size_t at = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (is_moved[i]) continue;
    while (is_taken[at]) ++at;
    order[at++] = static_cast<std::int64_t>(i);
  }
  return permute_dims(x, order, site);
}

Tensor matrix_transpose(const Tensor& x, Site site) {
  const auto rank = static_cast<std::int64_t>(x.rank(site));
  if (rank < 2) throw ShapeError(text("matrix_transpose needs two axes; the shape is ", to_string(x.shape())), site);
  return moveaxis(x, rank - 1, rank - 2, site);
}

std::vector<Tensor> unstack(const Tensor& x, std::int64_t axis, Site site) {
  const std::size_t at = checked_axis(axis, x.rank(site), site);
  Shape shape;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != at) shape.push_back(x.shape()[i]);
  }
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < x.shape()[at]; ++i) out.push_back(*try_reshape(part(x, at, i, i + 1, site), shape));
  return out;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t parts, std::int64_t axis, Site site) {
  const std::size_t at = checked_axis(axis, x.rank(site), site);
  const std::int64_t size = x.shape()[at];
  if (parts < 1 || size % parts != 0) {
    throw ShapeError(
        text("split: axis ", axis, " of the shape ", to_string(x.shape()), " cannot be cut into ", parts, " parts of equal size"),
        site);
  }
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < parts; ++i) out.push_back(part(x, at, i * (size / parts), (i + 1) * (size / parts), site));
  return out;
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& indices, std::int64_t axis, Site site) {
  const std::size_t at = checked_axis(axis, x.rank(site), site);
  std::vector<Tensor> out;
  std::int64_t begin = 0;
  for (const std::int64_t end : indices) {
    out.push_back(part(x, at, begin, end, site));
    begin = end;
  }
  out.push_back(slice(x, static_cast<std::int64_t>(at), {begin, {}}, site));
  return out;
}

}  // namespace tutti
