// The CPU kernels, one function per op; registration.cc enters them in the op table, tests and benchmarks call them directly.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

void add(const KernelCall& call, KernelContext& context);
void multiply(const KernelCall& call, KernelContext& context);
void exp(const KernelCall& call, KernelContext& context);
void relu(const KernelCall& call, KernelContext& context);
void select(const KernelCall& call, KernelContext& context);
void add_n(const KernelCall& call, KernelContext& context);

// Float to integer truncates towards zero; what does not fit becomes the nearest integer that does, and NaN becomes 0.
// Integer to a smaller integer wraps. Anything but 0 is true.
void cast(const KernelCall& call, KernelContext& context);
// The same dtype on both sides, any strides; a single element fills the output.
void copy(const KernelCall& call, KernelContext& context);

// The layout of the random numbers is written down in random.cc.
void random_uniform(const KernelCall& call, KernelContext& context);

// Pairwise; the same result whatever the number of cores.
void sum(const KernelCall& call, KernelContext& context);
void matmul(const KernelCall& call, KernelContext& context);

void count_nonzero(const KernelCall& call, KernelContext& context);
void nonzero(const KernelCall& call, KernelContext& context);
void take(const KernelCall& call, KernelContext& context);

}  // namespace tutti::kernels
