// Operands that lie turned (a transposed matrix), for functions that put whole elements elsewhere: they work on them as they lie
// and turn the result alike, as element-wise ops do (exec/memory_order.h). For the files that define such functions; not for
// users.
#pragma once

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

}  // namespace tutti::detail
