// Products of matrices of floats in any layout, for kernels that are made of them.
#pragma once

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Bytes to work in; `data` is not looked at.
std::int64_t operand_product_bytes(const Operand& a, const Operand& b);
// c = a b over the leading axes, with c dense. None is empty.
void multiply_operands(const Operand& a, const Operand& b, std::byte* c, std::byte* scratch, bool tf32, Queue& queue,
                       const KernelCall& call);

}  // namespace tutti::kernels::cuda
