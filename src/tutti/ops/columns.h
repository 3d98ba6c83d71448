// Ops along one axis, for the files that define such functions; not for users. Their kernels take lines (the axis is the last
// one) and columns (others come behind it); what lies as columns, or turned so that it does, need not be turned first.
#pragma once

#include <cstdint>

#include "tutti/ops/axis_last.h"
#include "tutti/ops/on_host.h"
#include "tutti/ops/turned.h"

namespace tutti::detail {

inline constexpr std::int64_t any_length = std::int64_t{1} << 62;

// Where it pays to leave columns as they lie.
struct ColumnLimits {
  std::int64_t longest_on_host;
  std::int64_t longest_elsewhere;
  std::int64_t fewest_elsewhere;  // columns that go round
};

// Of a dense tensor: columns of `length` elements, for the axes behind `last`.
inline bool pays_by_column(const Tensor& x, std::size_t last, std::int64_t length, const ColumnLimits& limits, Site site) {
  const bool on_host = is_on_host(x, site);
  const std::int64_t fewest_behind = on_host ? 64 : 16;  // a strip of them is worked on at a time
  const std::int64_t fewest = on_host ? 2048 : limits.fewest_elsewhere;
  constexpr std::int64_t small = 64 * 1024;  // elements: the second op is what counts
  std::int64_t behind = 1;
  for (std::size_t i = last + 1; i < x.rank(); ++i) behind *= x.shape()[i];
  if (behind < fewest_behind || length == 0 || length > (on_host ? limits.longest_on_host : limits.longest_elsewhere))
    return false;
  return x.size() / length >= fewest || x.size() <= small;
}

// run(operand, axes behind the axis), its result turned to the order of x.
template <class Run>
Tensor along_axis(const Tensor& x, std::size_t axis, const ColumnLimits& limits, Site site, const Run& run) {
  const std::int64_t length = x.shape()[axis];
  if (const std::optional<Turned> lies = turned(x, site)) {
    const auto place = static_cast<std::size_t>(lies->places[axis]);
    if (place + 1 < x.rank() && pays_by_column(lies->rows, place, length, limits, site))
      return lies->back(run(lies->rows, static_cast<std::int32_t>(x.rank() - 1 - place)), site);
  } else if (axis + 1 < x.rank() && x.is_contiguous() && pays_by_column(x, axis, length, limits, site)) {
    return run(x, static_cast<std::int32_t>(x.rank() - 1 - axis));
  }
  return axis_back(run(axis_last(x, axis, site), 0), axis, site);
}

}  // namespace tutti::detail
