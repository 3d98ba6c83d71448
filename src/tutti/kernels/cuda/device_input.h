// Inputs that must lie in device memory.
#pragma once

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// Throws KernelFailed for a number that travels inside the call: a kernel must not follow its address.
const Operand& device_input(const KernelCall& call, std::size_t i);

}  // namespace tutti::kernels::cuda
