// Products of one row by one column each, as many as there are in a batch.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

// MatMul with m = n = 1 and k > 0. Each sum is rounded once to the output's dtype.
void dot_products(const KernelCall& call, Parallel& parallel);

}  // namespace tutti::kernels
