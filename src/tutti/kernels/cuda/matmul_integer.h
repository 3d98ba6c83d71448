// Matrix products of integers and bools, which the library does not have.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Any strides. Sums are kept in 32 bits, of int64 in 64, and wrap; a bool is true where the sum is not 0.
void multiply_integers(const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
