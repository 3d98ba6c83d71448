// Matrix products of bf16 by the instructions some machines have for them.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

// c = a b for operands of two axes, on this thread; false, and nothing done, where the machine lacks AVX512-BF16 or the matrices
// are too small for it. Sums are kept in f32 and rounded once; subnormal numbers count as zero.
bool multiply_bf16(const Operand& a, const Operand& b, const Operand& c);

}  // namespace tutti::kernels
