// What a product with a bias needs where the library does not do it on the way.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// In dense floats, what is negative becomes 0.
void rectify(const Operand& x, Queue& queue, const KernelCall& call);
// `to` is the sum of the rows of a matrix of floats in any layout.
void sum_rows(const Operand& from, const Operand& to, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
