// Convolutions of f32 and f64 by a kernel of our own, which makes no columns.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Conv2D with channels in front, all operands dense.
void convolve_directly(const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
