// The CUDA kernels, one function per op; registration.cc enters them in the op table. They launch and return.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/exec/op_call.h"

namespace tutti::kernels::cuda {

void add(const KernelCall& call, KernelContext& context);
void multiply(const KernelCall& call, KernelContext& context);
void exp(const KernelCall& call, KernelContext& context);
void relu(const KernelCall& call, KernelContext& context);
void select(const KernelCall& call, KernelContext& context);
void add_n(const KernelCall& call, KernelContext& context);
std::int64_t add_n_workspace(const OpCall& call, const Inference& in);

// As on the CPU: float to integer truncates and saturates, NaN becomes 0; integers wrap; anything but 0 is true.
void cast(const KernelCall& call, KernelContext& context);
// The same dtype on both sides, any strides; either side may be pinned host memory.
void copy(const KernelCall& call, KernelContext& context);

// Bit for bit what the CPU draws.
void random_uniform(const KernelCall& call, KernelContext& context);

// The same result on every run on the same kind of GPU.
void sum(const KernelCall& call, KernelContext& context);
std::int64_t sum_workspace(const OpCall& call, const Inference& in);
void matmul(const KernelCall& call, KernelContext& context);
std::int64_t matmul_workspace(const OpCall& call, const Inference& in);

void count_nonzero(const KernelCall& call, KernelContext& context);
std::int64_t count_nonzero_workspace(const OpCall& call, const Inference& in);
void nonzero(const KernelCall& call, KernelContext& context);
std::int64_t nonzero_workspace(const OpCall& call, const Inference& in);
void take(const KernelCall& call, KernelContext& context);

}  // namespace tutti::kernels::cuda
