// The order in which the axes of a tensor lie in memory. An element-wise op whose inputs lie turned (a transposed matrix) gives
// an output that lies the same way, so that its kernel walks all of them as if they were dense; where all inputs repeat
// themselves along an axis (a broadcast), so does the output, and its kernel works once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tutti/exec/op_call.h"

namespace tutti {

struct MemoryOrder {
  std::array<std::uint8_t, most_axes> axes{};  // outermost first
  Dims strides;                                // of a tensor that lies in this order without gaps
  bool is_row_order = true;
  std::uint32_t repeated = 0;  // bit mask of the axes along which there is one element for all

  // What has a place of its own in memory.
  [[nodiscard]] Shape distinct(const Shape& shape) const noexcept {
    Shape out = shape;
    for (std::size_t i = 0; i < shape.size(); ++i) out[i] = (repeated >> i & 1U) != 0 ? 1 : shape[i];
    return out;
  }
};

// Row order, unless an input of the output's shape lies without gaps in another and none lies in row order, or all tensors
// among the inputs repeat themselves along an axis.
MemoryOrder order_of_output(const OpCall& call, const Shape& shape) noexcept;

// The order in which a tensor lies if that is without gaps and another axis than the last one is innermost; nothing otherwise.
std::optional<MemoryOrder> turned_order(const TensorImpl& tensor) noexcept;

}  // namespace tutti
