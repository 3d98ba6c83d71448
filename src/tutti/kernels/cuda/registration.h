// Enters a kernel in the op table for NVIDIA GPUs.
#pragma once

#include "tutti/exec/op_call.h"
#include "tutti/exec/op_table.h"

namespace tutti::kernels::cuda {

// Call it from the file that holds the kernel:
//   [[maybe_unused]] const bool is_registered = register_cuda_kernel("Sum", sum, sum_workspace);
inline bool register_cuda_kernel(const char* op, Kernel kernel, Workspace workspace = nullptr, DTypes takes = any_dtype) {
  return register_kernel(op, BackendKind::cuda, kernel, workspace, takes);
}

}  // namespace tutti::kernels::cuda
