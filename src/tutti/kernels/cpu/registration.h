// Enters a kernel in the op table for every backend that runs on the host's cores.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/tensor/dtype_set.h"

namespace tutti::kernels {

// The simulated GPUs run the same kernels on memory of their own. Call it from the file that holds the kernel:
//   [[maybe_unused]] const bool is_registered = register_host_kernel("Sum", sum);
bool register_host_kernel(const char* op, Kernel kernel, DTypes takes = any_dtype);

}  // namespace tutti::kernels
