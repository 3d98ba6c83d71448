// What rules of gradients are written with (exec/gradient.h). For the files that define ops; not for users.
#pragma once

#include <cstddef>

#include "tutti/exec/gradient.h"
#include "tutti/exec/op_table.h"
#include "tutti/ops/tensor_arg.h"

// For GradientRule::reads_inputs and reads_outputs.
namespace tutti::reads {
inline constexpr std::uint8_t first = 1;
inline constexpr std::uint8_t second = 2;
inline constexpr std::uint8_t every = 0xFF;
}  // namespace tutti::reads

namespace tutti::detail {

// Input i as an operand again: the tensor, or the number the call was made with. The call must outlive it.
TensorArg operand(const GradientCall& call, std::size_t i);
// The sum over the axes along which a tensor of that shape was broadcast to x's.
Tensor sum_to(const Tensor& x, const Shape& shape, Site site);
// What a reduction over these axes (a bit mask) left, broadcast to the shape it came from.
Tensor spread(const Tensor& x, const Shape& shape, std::uint32_t reduced, Site site);

// The rule of ops of one input whose gradient is multiplied with slope(x, y, site), element by element.
template <auto slope>
void by_slope(GradientCall& call) {
  call.give(0, multiply(call.gradient(), slope(call.input(0), call.output(0), call.site), call.site));
}
// Of ops that change in steps: no input has a gradient.
inline void steps(GradientCall&) {}

}  // namespace tutti::detail
