#include "tutti/tensor/view.h"

#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

// Where an index of Python's slice rule falls, between lowest and highest.
std::int64_t clamp_index(std::int64_t index, std::int64_t size, std::int64_t lowest, std::int64_t highest) {
  if (index < 0) index = index < -size ? -1 : index + size;  // far below the start stays below it
  return std::clamp(index, lowest, highest);
}

}  // namespace

Stretch resolve_range(const char* function, const Range& range, std::int64_t size, Site site) {
  if (range.step == 0) throw InvalidArgument(text(function, ": a slice needs a step other than 0"), site);
  const bool forward = range.step > 0;
  const std::int64_t lowest = forward ? 0 : -1;
  const std::int64_t highest = forward ? size : size - 1;
  const std::int64_t start = range.start ? clamp_index(*range.start, size, lowest, highest) : forward ? lowest : highest;
  const std::int64_t stop = range.stop ? clamp_index(*range.stop, size, lowest, highest) : forward ? highest : lowest;
  const std::int64_t span = forward ? stop - start : start - stop;
  // The magnitude without overflow, also for the most negative step.
  const std::uint64_t step = forward ? static_cast<std::uint64_t>(range.step) : 0 - static_cast<std::uint64_t>(range.step);
  const std::int64_t count = span <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / step) + 1;
  return {count == 0 ? 0 : start, count, count <= 1 ? 1 : range.step};
}

namespace detail {

Tensor view_of(const Tensor& x, const Shape& shape, const Dims& strides, std::int64_t offset) {
  return Tensor(Ref<TensorImpl>(FreeList<TensorImpl>::make(x.impl().buffer(), x.dtype(), shape, strides, offset)));
}

SliceAttributes whole(const Shape& shape) noexcept {
  SliceAttributes out;
  for (std::size_t i = 0; i < shape.size(); ++i) out.axes.push_back({0, shape[i], 1});
  return out;
}

Tensor sliced(const Tensor& x, const SliceAttributes& part) {
  Shape shape;
  Dims strides;
  std::int64_t offset = x.impl().offset();
  const auto add_new_axes = [&] {
    if (part.added == 0) return;
    while (shape.size() < most_axes && (part.added >> shape.size() & 1U) != 0) {
      shape.push_back(1);
      strides.push_back(0);
    }
  };
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Stretch& along = part.axes[i];
    offset += along.start * x.strides()[i];
    if ((part.dropped >> i & 1U) != 0) continue;
    add_new_axes();
    shape.push_back(along.count);
    strides.push_back(x.strides()[i] * along.step);
  }
  add_new_axes();
  return view_of(x, shape, strides, offset);
}

Tensor permuted(const Tensor& x, const Dims& axes) {
  Shape shape;
  Dims strides;
  for (const std::int64_t axis : axes) {
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  return view_of(x, shape, strides, x.impl().offset());
}

Dims inverted(const Dims& axes) noexcept {
  Dims out = axes;
  for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = static_cast<std::int64_t>(i);
  return out;
}

Tensor broadcasted(const Tensor& x, const Shape& shape) {
  const std::size_t lead = shape.size() - x.rank();
  Dims strides = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool grown = i < lead || (x.shape()[i - lead] == 1 && shape[i] != 1);
    strides[i] = grown ? 0 : x.strides()[i - lead];
  }
  return view_of(x, shape, strides, x.impl().offset());
}

Tensor diagonal_of(const Tensor& x, const DiagonalAttributes& which) {
  const auto rows = static_cast<std::size_t>(which.rows);
  const auto columns = static_cast<std::size_t>(which.columns);
  const std::int64_t above = std::clamp<std::int64_t>(which.offset, 0, x.shape()[columns]);
  const std::int64_t below = which.offset < 0 ? std::min(-std::max(which.offset, -x.shape()[rows]), x.shape()[rows]) : 0;
  const std::int64_t size = std::min(x.shape()[rows] - below, x.shape()[columns] - above);
  Shape shape;
  Dims strides;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i == rows || i == columns) continue;
    shape.push_back(x.shape()[i]);
    strides.push_back(x.strides()[i]);
  }
  shape.push_back(size);
  strides.push_back(x.strides()[rows] + x.strides()[columns]);
  const std::int64_t first = size == 0 ? 0 : below * x.strides()[rows] + above * x.strides()[columns];
  return view_of(x, shape, strides, x.impl().offset() + first);
}

std::optional<Tensor> try_reshape(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous()) return view_of(x, shape, dense_strides(shape), x.impl().offset());
  // Axes of size 1 carry no stride; the others are matched from the left in runs with the same number of elements,
  // and inside a run the old axes must lie one inside the other.
  Shape from;
  Dims from_strides;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x.shape()[i] == 1) continue;
    from.push_back(x.shape()[i]);
    from_strides.push_back(x.strides()[i]);
  }
  Dims strides = shape;
  std::size_t i = 0;
  std::size_t j = 0;
  while (j < shape.size()) {
    if (shape[j] == 1) {
      strides[j++] = 1;
      continue;
    }
    std::size_t old_end = i + 1;
    std::size_t new_end = j + 1;
    std::int64_t old_count = from[i];
    std::int64_t new_count = shape[j];
    while (old_count != new_count) {
      if (old_count < new_count) {
        if (from_strides[old_end - 1] != from[old_end] * from_strides[old_end]) return std::nullopt;
        old_count *= from[old_end++];
      } else {
        new_count *= shape[new_end++];
      }
    }
    std::int64_t stride = from_strides[old_end - 1];
    for (std::size_t k = new_end; k-- > j;) {
      strides[k] = stride;
      stride *= shape[k];
    }
    i = old_end;
    j = new_end;
  }
  return view_of(x, shape, strides, x.impl().offset());
}

}  // namespace detail

Shape resolve_reshape(const char* function, const Shape& from, const Shape& to, Site site) {
  const auto refuse = [&](const char* why) -> Shape {
    throw ShapeError(text(function, ": a tensor of shape ", to_string(from), " cannot be reshaped to ", to_string(to), ": ", why),
                     site);
  };
  Shape out = to;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1) {
      if (open) return refuse("only one size may be -1");
      open = i;
      out[i] = 1;
    } else if (to[i] < 0) {
      return refuse("a size is negative");
    }
  }
  const std::int64_t count = *element_count(from);
  const std::optional<std::int64_t> rest = element_count(out);
  if (!rest) return refuse("the sizes are too large");
  if (open) {
    if (*rest == 0 || count % *rest != 0) return refuse("the -1 cannot be filled in with a whole number");
    out[*open] = count / *rest;
  } else if (*rest != count) {
    return refuse("the numbers of elements differ");
  }
  return out;
}

}  // namespace tutti
