#include "tutti/exec/memory_order.h"

#include <span>

namespace tutti {

namespace {

// False: it has gaps, overlaps or steps backwards.
bool find_order(const TensorImpl& tensor, MemoryOrder& order) noexcept {
  const std::span shape = tensor.shape().view();
  const std::span strides = tensor.strides().view();
  const std::size_t rank = shape.size();
  for (std::size_t i = 0; i < rank; ++i) {
    std::size_t at = i;
    for (; at > 0 && strides[order.axes[at - 1]] < strides[i]; --at) order.axes[at] = order.axes[at - 1];
    order.axes[at] = static_cast<std::uint8_t>(i);
  }
  std::int64_t expected = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t axis = order.axes[i];
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  order.strides = tensor.strides();
  order.is_row_order = false;
  return true;
}

}  // namespace

MemoryOrder order_of_output(const OpCall& call, const Shape& shape) noexcept {
  MemoryOrder order;
  const std::size_t rank = shape.size();
  if (rank < 2) return order;
  for (const OpInput& input : call.inputs()) {
    if (input.tensor == nullptr || !(input.tensor->shape() == shape)) continue;
    // Nearly every tensor ends here: its last axis is the innermost one.
    if (input.tensor->strides().view()[rank - 1] == 1 || shape.view()[rank - 1] == 1) return {};
    if (order.is_row_order && !find_order(*input.tensor, order)) order = {};
  }
  return order;
}

std::optional<MemoryOrder> transposed_order(const TensorImpl& tensor) noexcept {
  const Shape& shape = tensor.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || tensor.strides().view()[rank - 1] == 1 || shape.view()[rank - 1] == 1) [[likely]]
    return std::nullopt;
  MemoryOrder order;
  if (!find_order(tensor, order)) return std::nullopt;
  return order;
}

}  // namespace tutti
