// For ops that work along one axis: that axis moved last, and back again, both as views.
#pragma once

#include "tutti/ops/views.h"

namespace tutti::detail {

inline Tensor axis_moved(const Tensor& x, std::size_t from, std::size_t to, Site site) {
  if (from == to) return x;
  Dims axes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (next == from) ++next;
    axes.push_back(static_cast<std::int64_t>(i == to ? from : next++));
  }
  return permute_dims(x, axes, site);
}

inline Tensor axis_last(const Tensor& x, std::size_t axis, Site site) { return axis_moved(x, axis, x.rank() - 1, site); }
inline Tensor axis_back(const Tensor& x, std::size_t axis, Site site) { return axis_moved(x, x.rank() - 1, axis, site); }

}  // namespace tutti::detail
