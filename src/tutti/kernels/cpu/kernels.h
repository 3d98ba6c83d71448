// The kernels that other kernels are made of. Every kernel registers itself in the file that holds it.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

// The same dtype on both sides, any strides; a single element fills the output.
void copy(const Operand& from, const Operand& to, Parallel& parallel);

}  // namespace tutti::kernels
