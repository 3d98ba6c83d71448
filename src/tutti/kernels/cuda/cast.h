// Casts of operands that lie dense: one kernel for each pair of dtypes. False where an operand does not, or is not aligned.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

bool cast_dense_to_integer(const KernelCall& call, Queue& queue);  // and to bool
bool cast_dense_to_floating(const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
