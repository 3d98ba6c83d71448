// Orders of axes that a device's kernels would rather see than the tensor's own (OpDefinition::arrange). For the files that
// define such ops; not for users.
#pragma once

#include <cstdint>
#include <optional>

#include "tutti/exec/memory_order.h"
#include "tutti/place/runtime.h"

namespace tutti::detail {

inline constexpr std::int64_t any_length = std::int64_t{1} << 62;

// The order in which a tensor lies in memory, where that is without gaps and not row-major order; else empty.
inline Dims memory_axes(const TensorImpl& x) {
  Dims out;
  if (const std::optional<MemoryOrder> order = transposed_order(x)) [[unlikely]] {
    for (std::size_t i = 0; i < x.shape().size(); ++i) out.push_back(order->axes[i]);
  }
  return out;
}

// For kernels that walk strides: the axes from the farthest apart in memory to the nearest, where that is not row-major order and
// every element has a place of its own; else empty.
inline Dims axes_by_stride(const TensorImpl& x) {
  const Shape& shape = x.shape();
  if (shape.size() < 2 || x.strides()[shape.size() - 1] == 1) [[likely]]
    return {};
  Dims out;
  bool is_row_order = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (x.strides()[i] <= 0) return {};
    out.push_back(0);
    std::size_t at = i;
    for (; at > 0 && x.strides()[out[at - 1]] < x.strides()[i]; --at) out[at] = out[at - 1];
    out[at] = static_cast<std::int64_t>(i);
    is_row_order = is_row_order && at == i;
  }
  return is_row_order ? Dims{} : out;
}

// Where an axis of the tensor is found in that order.
inline std::size_t place_of(std::size_t axis, const Dims& order) noexcept {
  std::size_t place = 0;
  while (order[place] != static_cast<std::int64_t>(axis)) ++place;
  return place;
}

// Where it pays an op along one axis to leave other axes behind that one (columns), as they are.
struct ColumnLimits {
  std::int64_t longest_on_cpu;
  std::int64_t longest_elsewhere;
  std::int64_t fewest_elsewhere;  // columns that go round
};

// For kernels that take lines (the axis is the last one) and columns (`after` axes come behind it): an order that puts the axis
// last, unless columns pay. Sets `after`.
template <class Attributes, const ColumnLimits& limits>
Dims arrange_lines(OpCall& call, const LogicalDevice& on) {
  const TensorImpl& x = *call.inputs()[0].tensor;
  const Shape& shape = x.shape();
  auto attributes = call.attributes.as<Attributes>();
  const std::size_t axis = shape.size() - 1 - static_cast<std::size_t>(attributes.after);
  Dims order = memory_axes(x);
  const bool is_row_order = order.empty();
  if (is_row_order) {
    if (attributes.after == 0) [[likely]]
      return {};
    for (std::size_t i = 0; i < shape.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
  }
  std::size_t place = place_of(axis, order);
  std::int64_t behind = 1;
  for (std::size_t i = place + 1; i < order.size(); ++i) behind *= shape[order[i]];
  const std::int64_t count = *element_count(shape);
  const std::int64_t length = shape[axis];
  constexpr std::int64_t few = 64 * 1024;  // elements: a second op would be what counts
  const bool can_pay = length > 0 && length <= (on.is_cpu() ? limits.longest_on_cpu : limits.longest_elsewhere) &&
                       behind >= (on.is_cpu() ? 64 : 16);  // a strip of columns is worked on at a time
  const bool pays = can_pay && (count <= few || count / length >= (on.is_cpu() ? 2048 : limits.fewest_elsewhere));
  if (!pays) {
    order = {};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i != axis) order.push_back(static_cast<std::int64_t>(i));
    }
    order.push_back(static_cast<std::int64_t>(axis));
    place = order.size() - 1;
  }
  attributes.after = static_cast<std::int32_t>(order.size() - 1 - place);
  call.attributes = tutti::Attributes(attributes);
  return pays && is_row_order ? Dims{} : order;
}

}  // namespace tutti::detail
