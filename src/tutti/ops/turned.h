// Operands that lie turned (a transposed matrix), for functions that put whole elements elsewhere: they work on them as they lie
// and turn the result alike, as element-wise ops do (exec/memory_order.h). For the files that define such functions; not for
// users.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tutti/exec/memory_order.h"
#include "tutti/tensor/view.h"

namespace tutti::detail {

struct Turned {
  Tensor rows;  // the operand, its axes in the order of memory
  Dims axes;    // of the operand: axis i of `rows` is axis axes[i]
  Dims places;  // in `rows`: axis i of the operand is axis places[i]

  [[nodiscard]] Tensor back(const Tensor& result, Site site) const { return permute_dims(result, places, site); }
};

// Nothing: its last axis is innermost, it has gaps, or it repeats itself.
inline std::optional<Turned> turned(const Tensor& x, Site site) {
  const std::optional<MemoryOrder> order = turned_order(x.impl(site));
  if (!order) [[likely]]
    return std::nullopt;
  Turned out;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    out.axes.push_back(order->axes[i]);
    out.places.push_back(0);
  }
  for (std::size_t i = 0; i < x.rank(); ++i) out.places[static_cast<std::size_t>(out.axes[i])] = static_cast<std::int64_t>(i);
  out.rows = permute_dims(x, out.axes, site);
  return out;
}

struct TurnedMatrix {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

// The matrices that memory holds where the tensor has the same, each transposed: its axes lie in order but for two groups at the
// end, which have changed places. One row where the order is another one.
inline TurnedMatrix transposed_matrices(const Turned& turned) {
  const Shape& shape = turned.rows.shape();
  Dims axes;  // of the tensor, in the order of memory
  Dims sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    axes.push_back(turned.axes[i]);
    sizes.push_back(shape[i]);
  }
  std::size_t first = 0;  // behind those that lie in order: the tensor's axes, and memory's, before it are the same ones
  while (first < axes.size()) {
    const bool is_next = std::all_of(axes.begin() + first, axes.end(), [&](std::int64_t axis) { return axis >= axes[first]; });
    if (!is_next) break;
    ++first;
  }
  std::size_t columns = first;  // where the second group begins in memory: with the least of the axes
  for (std::size_t i = first; i < axes.size(); ++i) {
    if (axes[i] < axes[columns]) columns = i;
  }
  TurnedMatrix matrix;
  for (std::size_t i = first; i < axes.size(); ++i) {
    const bool is_first_of_group = i == first || i == columns;
    if (!is_first_of_group && axes[i] < axes[i - 1]) return {};
    (i < columns ? matrix.rows : matrix.columns) *= sizes[i];
  }
  if (first == axes.size() || axes[axes.size() - 1] > axes[first]) return {};
  return matrix;
}

}  // namespace tutti::detail
