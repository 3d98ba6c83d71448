// The part of manipulation.h that only looks at elements in another way.
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/manipulation.h"

namespace tutti {

namespace {

// The axes of x that `axes` lists, and new ones where it marks them.
Tensor with_axes(const Tensor& x, const Dims& axes, Site site) {
  Shape shape;
  for (const std::int64_t axis : axes) shape.push_back(axis == detail::new_axis_mark ? 1 : x.shape()[axis]);
  return reshape(x, shape, site);
}

}  // namespace

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors, Site site) {
  Shape common;
  for (const Tensor& x : tensors) common = detail::broadcast_together("broadcast_arrays", common, x.shape(site), site);
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(broadcast_to(x, common, site));
  return out;
}

Tensor expand_dims(const Tensor& x, const Dims& axes, Site site) {
  return with_axes(x, detail::expanded_axes(x.shape(site), axes, site), site);
}

Tensor squeeze(const Tensor& x, const Dims& axes, Site site) {
  return with_axes(x, detail::squeezed_axes(x.shape(site), axes, site), site);
}
Tensor squeeze(const Tensor& x, Site site) { return squeeze(x, detail::single_axes(x.shape(site)), site); }

Tensor flip(const Tensor& x, const Dims& axes, Site site) {
  const auto is_named = detail::named_axes("flip", axes, x.rank(site), site);
  SliceAttributes part = detail::whole(x.shape());
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (is_named[i]) part.axes[i] = resolve_range("flip", {{}, {}, -1}, x.shape()[i], site);
  }
  return detail::slice_by(x, part, site);
}

Tensor flip(const Tensor& x, Site site) { return flip(x, detail::reversed_axes(x.rank(site)), site); }

Tensor moveaxis(const Tensor& x, const Dims& from, const Dims& to, Site site) {
  return permute_dims(x, detail::moved_axes(x.rank(site), from, to, site), site);
}

Tensor matrix_transpose(const Tensor& x, Site site) {
  if (x.rank(site) < 2) throw ShapeError(text("matrix_transpose needs two axes; the shape is ", to_string(x.shape())), site);
  return transpose(x, -2, -1, site);
}

std::vector<Tensor> unstack(const Tensor& x, std::int64_t axis, Site site) {
  const std::size_t at = checked_axis("unstack", axis, x.rank(site), site);
  SliceAttributes part = detail::whole(x.shape());
  part.dropped = static_cast<std::uint8_t>(1U << at);
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < x.shape()[at]; ++i) {
    part.axes[at] = {i, 1, 1};
    out.push_back(detail::slice_by(x, part, site));
  }
  return out;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t parts, std::int64_t axis, Site site) {
  return split(x, detail::equal_cuts(x.shape(site), parts, axis, site), axis, site);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& indices, std::int64_t axis, Site site) {
  const auto at = static_cast<std::int64_t>(checked_axis("split", axis, x.rank(site), site));
  std::vector<Tensor> out;
  std::int64_t begin = 0;
  for (const std::int64_t end : indices) out.push_back(slice(x, at, {std::exchange(begin, end), end}, site));
  out.push_back(slice(x, at, {begin, {}}, site));
  return out;
}

}  // namespace tutti
