#include "tutti/mesh/sharded_views.h"

#include <optional>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/axis_labels.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/ops/manipulation.h"
#include "tutti/tensor/axes.h"

namespace tutti {

namespace {

using detail::new_axis_mark;

// Axis i of the view is sharded as axis axes[i] of x; one that is new is not.
Layout carried(const ShardedTensor& x, const Dims& axes) {
  Layout out = Layout::replicated(x.mesh(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != new_axis_mark) out = out.with(i, x.layout().dim_of(static_cast<std::size_t>(axes[i])));
  }
  return out;
}

// What every view is: the layout that follows, and how one device looks at its shard.
template <class Local>
ShardedTensor view(const ShardedTensor& x, const Layout& layout, Site site, Local&& local) {
  const detail::DerivedOrder ordered;
  std::vector<Tensor> shards =
      detail::made_on_each(x.mesh(), site, [&](std::size_t device) { return local(x.shards()[device]); });
  const Shape global = layout.global_shape(shards.front().shape(), site);
  return {layout, global, std::move(shards)};
}

[[noreturn]] void refuse(const char* function, const ShardedTensor& x, std::size_t axis, const std::string& why, Site site) {
  const Layout& layout = x.layout();
  throw InvalidArgument(text(function, ": axis ", axis, " of shape ", to_string(x.shape()), " is sharded over the ",
                             layout.num_shards(axis), " devices of mesh dimension '", layout.spec(axis), "', and ", why,
                             ". Use relayout(x, ", detail::as_written(layout.with(axis, std::nullopt)), ") first"),
                        site);
}

void require_whole(const char* function, const ShardedTensor& x, std::size_t axis, Site site) {
  if (x.layout().num_shards(axis) > 1) refuse(function, x, axis, "its elements would have to change devices", site);
}

// The first axis of a stretch that has more than one element, if any.
std::optional<std::size_t> leading(const Shape& shape, std::size_t begin, std::size_t end) {
  for (std::size_t axis = begin; axis < end; ++axis) {
    if (shape[axis] != 1) return axis;
  }
  return std::nullopt;
}

// Axes are split and joined in stretches with the same number of elements. A shard is a block of a stretch in row-major order
// where the axis that is sharded leads it, and so has to be a block of whole rows of what the stretch becomes.
Dims reshaped_axes(const ShardedTensor& x, const Shape& to, Site site) {
  const Shape& from = x.shape();
  Dims axes;
  for (std::size_t i = 0; i < to.size(); ++i) axes.push_back(new_axis_mark);
  if (*element_count(from) == 0) return axes;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    const std::size_t old_begin = i;
    const std::size_t new_begin = j;
    std::int64_t old_count = i < from.size() ? from[i++] : 1;
    std::int64_t new_count = j < to.size() ? to[j++] : 1;
    while (old_count != new_count) {
      if (old_count < new_count) {
        old_count *= from[i++];
      } else {
        new_count *= to[j++];
      }
    }
    const std::optional<std::size_t> old_lead = leading(from, old_begin, i);
    const std::optional<std::size_t> new_lead = leading(to, new_begin, j);
    for (std::size_t axis = old_begin; axis < i; ++axis) {
      const std::int64_t shards = x.layout().num_shards(axis);
      if (shards > 1 && axis != old_lead) {
        refuse("reshape", x, axis, text("of axes that are joined on the way to ", to_string(to), " only the first may be"), site);
      }
      if (shards > 1 && to[*new_lead] % shards != 0) {
        refuse("reshape", x, axis,
               text("becomes axis ", *new_lead, " of ", to_string(to), ", whose ", to[*new_lead],
                    " elements they cannot share evenly"),
               site);
      }
    }
    if (new_lead) axes[*new_lead] = static_cast<std::int64_t>(*old_lead);
  }
  return axes;
}

}  // namespace

ShardedTensor permute_dims(const ShardedTensor& x, const Dims& axes, Site site) {
  const Dims order = detail::permuted_axes("permute_dims", x.shape(site), axes, site);
  return view(x, carried(x, order), site, [&](const Tensor& shard) { return permute_dims(shard, order, site); });
}

ShardedTensor transpose(const ShardedTensor& x, Site site) { return permute_dims(x, detail::reversed_axes(x.rank(site)), site); }

ShardedTensor transpose(const ShardedTensor& x, std::int64_t axis1, std::int64_t axis2, Site site) {
  return permute_dims(x, detail::swapped_axes(x.rank(site), axis1, axis2, site), site);
}

ShardedTensor transpose(const ShardedTensor& x, const Dims& axes, Site site) {
  return permute_dims(x, detail::permuted_axes("transpose", x.shape(site), axes, site), site);
}

ShardedTensor matrix_transpose(const ShardedTensor& x, Site site) {
  if (x.rank(site) < 2) throw ShapeError(text("matrix_transpose needs two axes; the shape is ", to_string(x.shape())), site);
  return transpose(x, -2, -1, site);
}

ShardedTensor moveaxis(const ShardedTensor& x, const Dims& from, const Dims& to, Site site) {
  return permute_dims(x, detail::moved_axes(x.rank(site), from, to, site), site);
}

ShardedTensor expand_dims(const ShardedTensor& x, const Dims& axes, Site site) {
  const Dims kept = detail::expanded_axes(x.shape(site), axes, site);
  return view(x, carried(x, kept), site, [&](const Tensor& shard) { return expand_dims(shard, axes, site); });
}

ShardedTensor squeeze(const ShardedTensor& x, const Dims& axes, Site site) {
  const Dims kept = detail::squeezed_axes(x.shape(site), axes, site);
  return view(x, carried(x, kept), site, [&](const Tensor& shard) { return squeeze(shard, axes, site); });
}

ShardedTensor squeeze(const ShardedTensor& x, Site site) { return squeeze(x, detail::single_axes(x.shape(site)), site); }

ShardedTensor broadcast_to(const ShardedTensor& x, const Shape& shape, Site site) {
  const std::optional<Shape> common = element_count(shape) ? broadcast(x.shape(site), shape) : std::nullopt;
  if (!common || !(*common == shape)) {
    throw ShapeError(text("broadcast_to: a tensor of shape ", to_string(x.shape()), " cannot be broadcast to ", to_string(shape),
                          "; an axis can grow only from size 1"),
                     site);
  }
  const std::size_t lead = shape.size() - x.rank();
  Dims axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_same = i >= lead && x.shape()[i - lead] == shape[i];
    axes.push_back(is_same ? static_cast<std::int64_t>(i - lead) : new_axis_mark);
  }
  const Layout layout = carried(x, axes);
  const Shape local = layout.shard_shape(shape, site);
  return view(x, layout, site, [&](const Tensor& shard) { return broadcast_to(shard, local, site); });
}

std::vector<ShardedTensor> broadcast_arrays(std::span<const ShardedTensor> tensors, Site site) {
  Shape common;
  for (const ShardedTensor& x : tensors) common = detail::broadcast_together("broadcast_arrays", common, x.shape(site), site);
  std::vector<ShardedTensor> out;
  for (const ShardedTensor& x : tensors) out.push_back(broadcast_to(x, common, site));
  return out;
}

ShardedTensor slice(const ShardedTensor& x, std::int64_t axis, const Range& range, Site site) {
  require_whole("slice", x, checked_axis("slice", axis, x.rank(site), site), site);
  return view(x, x.layout(), site, [&](const Tensor& shard) { return slice(shard, axis, range, site); });
}

ShardedTensor flip(const ShardedTensor& x, const Dims& axes, Site site) {
  const auto is_named = detail::named_axes("flip", axes, x.rank(site), site);
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (is_named[axis]) require_whole("flip", x, axis, site);
  }
  return view(x, x.layout(), site, [&](const Tensor& shard) { return flip(shard, axes, site); });
}

ShardedTensor flip(const ShardedTensor& x, Site site) { return flip(x, detail::reversed_axes(x.rank(site)), site); }

std::vector<ShardedTensor> unstack(const ShardedTensor& x, std::int64_t axis, Site site) {
  const std::size_t at = checked_axis("unstack", axis, x.rank(site), site);
  require_whole("unstack", x, at, site);
  std::vector<ShardedTensor> out;
  for (std::int64_t i = 0; i < x.shape()[at]; ++i) out.push_back(squeeze(slice(x, axis, {i, i + 1}, site), axis, site));
  return out;
}

std::vector<ShardedTensor> split(const ShardedTensor& x, std::int64_t parts, std::int64_t axis, Site site) {
  return split(x, detail::equal_cuts(x.shape(site), parts, axis, site), axis, site);
}

std::vector<ShardedTensor> split(const ShardedTensor& x, const std::vector<std::int64_t>& indices, std::int64_t axis, Site site) {
  require_whole("split", x, checked_axis("split", axis, x.rank(site), site), site);
  std::vector<ShardedTensor> out;
  std::int64_t begin = 0;
  for (const std::int64_t end : indices) out.push_back(slice(x, axis, {std::exchange(begin, end), end}, site));
  out.push_back(slice(x, axis, {begin, {}}, site));
  return out;
}

ShardedTensor diagonal(const ShardedTensor& x, const DiagonalOptions& options, Site site) {
  const auto is_gone = detail::named_axes("diagonal", {options.axis1, options.axis2}, x.rank(site), site);
  Dims axes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (is_gone[axis]) {
      require_whole("diagonal", x, axis, site);
    } else {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  axes.push_back(new_axis_mark);
  return view(x, carried(x, axes), site, [&](const Tensor& shard) { return diagonal(shard, options, site); });
}

ShardedTensor reshape(const ShardedTensor& x, const Shape& shape, Site site) {
  const Shape to = resolve_reshape("reshape", x.shape(site), shape, site);
  const Layout layout = carried(x, reshaped_axes(x, to, site));
  const Shape local = layout.shard_shape(to, site);
  return view(x, layout, site, [&](const Tensor& shard) { return reshape(shard, local, site); });
}

}  // namespace tutti
