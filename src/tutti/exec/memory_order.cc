#include "tutti/exec/memory_order.h"

#include <numeric>

namespace tutti {

namespace {

// False: it has gaps, overlaps or steps backwards. `shape`: the tensor's, with size 1 where it repeats itself.
bool find_order(const TensorImpl& tensor, const Shape& shape, MemoryOrder& order) noexcept {
  const Dims& strides = tensor.strides();
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
  order.strides = strides;
  order.is_row_order = false;
  return true;
}

// The axes of the output along which no tensor among the inputs has a second element, and one of them is as long as the output.
std::uint32_t repeated_axes(const OpCall& call, const Shape& shape) noexcept {
  std::uint32_t moving = 0;
  std::uint32_t covered = 0;
  for (const OpInput& input : call.inputs()) {
    if (input.tensor == nullptr) continue;
    const Dims& strides = input.tensor->strides();
    const std::size_t lead = shape.size() - strides.size();
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (input.tensor->shape()[i] <= 1) continue;
      (strides[i] == 0 ? covered : moving) |= 1U << (i + lead);
    }
  }
  return covered & ~moving;
}

MemoryOrder order_with_repeats(const OpCall& call, const Shape& shape, std::uint32_t repeated) noexcept {
  MemoryOrder order;
  order.repeated = repeated;
  const Shape distinct = order.distinct(shape);
  bool is_found = false;
  for (const OpInput& input : call.inputs()) {
    is_found =
        is_found || (input.tensor != nullptr && input.tensor->shape() == shape && find_order(*input.tensor, distinct, order));
  }
  if (!is_found) {
    std::iota(order.axes.begin(), order.axes.end(), std::uint8_t{0});
    order.strides = dense_strides(distinct);
    order.is_row_order = false;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if ((repeated >> i & 1U) != 0) order.strides[i] = 0;
  }
  return order;
}

}  // namespace

MemoryOrder order_of_output(const OpCall& call, const Shape& shape) noexcept {
  if (const std::uint32_t repeated = repeated_axes(call, shape); repeated != 0) [[unlikely]]
    return order_with_repeats(call, shape, repeated);
  MemoryOrder order;
  const std::size_t rank = shape.size();
  if (rank < 2) return order;
  for (const OpInput& input : call.inputs()) {
    if (input.tensor == nullptr || !(input.tensor->shape() == shape)) continue;
    // Nearly every tensor ends here: its last axis is the innermost one.
    if (input.tensor->strides()[rank - 1] == 1 || shape[rank - 1] == 1) return {};
    if (order.is_row_order && !find_order(*input.tensor, shape, order)) order = {};
  }
  return order;
}

std::optional<MemoryOrder> turned_order(const TensorImpl& tensor) noexcept {
  const Shape& shape = tensor.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || tensor.strides()[rank - 1] == 1 || shape[rank - 1] == 1) [[likely]]
    return std::nullopt;
  MemoryOrder order;
  if (!find_order(tensor, shape, order)) return std::nullopt;
  return order;
}

}  // namespace tutti
