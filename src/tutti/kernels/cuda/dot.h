// Products of one row by one column, a sum for each pair: what a matrix product is when nothing is shared.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

bool is_dot(const Operand& a, const Operand& b);
std::int64_t dot_workspace(const Operand& a, const Operand& b);
// Of floats; none of the sizes is 0.
void dot(const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
