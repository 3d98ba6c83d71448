// Products of matrices, for kernels that are made of them.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

// c = a b over the leading axes, which all have (a stride of 0 shares a factor); any strides. Half precision may go into f32.
void multiply(const Operand& a, const Operand& b, const Operand& c, Parallel& parallel);

}  // namespace tutti::kernels
