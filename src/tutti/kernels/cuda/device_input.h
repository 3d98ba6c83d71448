// Inputs that must lie in device memory, as the kernel sees them and, before there is a call, as its workspace is worked out.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/tensor/tensor.h"

namespace tutti::kernels::cuda {

// Throws KernelFailed for a number that travels inside the call: a kernel must not follow its address.
const Operand& device_input(const KernelCall& call, std::size_t i);

// How the tensor lies; without its address.
Operand operand_of(const TensorImpl& tensor) noexcept;

}  // namespace tutti::kernels::cuda
