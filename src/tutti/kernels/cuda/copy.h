// Copies between operands of one dtype, for the kernels that need one on the way.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// The same sizes and elements of the same size on both sides, any strides; `from` may be immediate or broadcast. One launch
// for what 32 bits can number, none for no elements. Call is the one to blame.
void copy_operand(const Operand& from, const Operand& to, Queue& queue, const KernelCall& call);

// A copy of it at `to`, dense in row-major order.
Operand copied_in_row_order(const Operand& from, std::byte* to, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
