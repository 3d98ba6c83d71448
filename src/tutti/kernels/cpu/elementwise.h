// The driver of every element-wise kernel: a way straight to the row for small dense calls, blocks for the rest.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

// Where a dtype has no row of its own, its elements are widened to its working dtype, and the results narrowed.
struct Elementwise {
  Row row = nullptr;
  Row widen = nullptr;
  Row narrow = nullptr;
};

using ElementwiseByDType = std::array<Elementwise, dtype_count>;

// From the rows of an op. `gives_bool`: they write bools, whatever they read.
ElementwiseByDType elementwise_by_dtype(const std::array<Row, dtype_count>& rows, bool gives_bool = false);

void run_elementwise(const KernelCall& call, KernelContext& context, const Elementwise& op);
// By the dtype of the first input.
void run_elementwise(const KernelCall& call, KernelContext& context, const ElementwiseByDType& ops);

// Throws: the op was placed here with a dtype its kernel does not have.
[[noreturn]] void refuse_dtype(const char* op, DType dtype, Site site);

}  // namespace tutti::kernels
