// A row that is added to each row of a product, and its gradient: for products whose library does not do it on the way.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// To every row of `to`, a dense matrix of floats; then, with `relu`, what is negative becomes 0.
void add_bias(const Operand& bias, const Operand& to, bool relu, Queue& queue, const KernelCall& call);
// `to` is the sum of the rows of a matrix of floats in any layout.
void sum_rows(const Operand& from, const Operand& to, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
