// Convolutions as products of matrices: for windows and dtypes that have no loop of their own.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

// Conv2D, for any floating dtype, either layout.
void convolve_by_products(const KernelCall& call, Parallel& parallel);

}  // namespace tutti::kernels
