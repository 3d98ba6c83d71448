// Cholesky factors of matrices too large for the shared memory of a block.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Of scratch memory.
std::int64_t large_cholesky_bytes(std::int64_t count, std::int64_t n, std::int64_t element);

// For each of the matrices, all dense. Those that are not positive definite are reported (cholesky_report.cuh).
template <class T>
void large_cholesky(Queue& queue, const KernelCall& call, const T* x, T* out, std::int32_t* info, std::int64_t count, int n,
                    bool upper, tutti::cuda::Trap* trap);

}  // namespace tutti::kernels::cuda
