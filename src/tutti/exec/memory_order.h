// The order of a tensor's axes in memory. An element-wise op whose inputs are transposed gives an output that is
// transposed alike, so that its kernel walks all of them as if they were contiguous.
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
};

// Row-major, unless an input of the output's shape is contiguous in another order and none is row-major.
MemoryOrder order_of_output(const OpCall& call, const Shape& shape) noexcept;

// The order in which a tensor lies if that is without gaps and another axis than the last one is innermost; nothing otherwise.
std::optional<MemoryOrder> transposed_order(const TensorImpl& tensor) noexcept;

}  // namespace tutti
