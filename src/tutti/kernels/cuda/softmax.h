// Softmax by dtype: device code for halves is compiled in a file of its own.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

void softmax_halves(const KernelCall& call, Queue& queue, bool is_log);

}  // namespace tutti::kernels::cuda
