// Products of matrices of floats in any layout, for kernels that are made of them.
#pragma once

#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/library_product.h"

namespace tutti::kernels::cuda {

// What the library is asked to do on the way.
struct Ending {
  Epilogue what = Epilogue::none;
  std::byte* bias = nullptr;  // dense
};

// Bytes to work in; `data` is not looked at.
std::int64_t operand_product_bytes(const Operand& a, const Operand& b);
// c = a b over the leading axes, with c dense. None is empty. False: the library has no such ending, and nothing was launched
// that counts.
bool multiply_operands(const Operand& a, const Operand& b, std::byte* c, std::byte* scratch, bool tf32, Queue& queue,
                       const KernelCall& call, const Ending& ending = {});
// What that will need is chosen, by the clock if that is allowed, and loaded.
void prepare_operands(const Operand& a, const Operand& b, std::byte* c, std::byte* scratch, bool tf32,
                      const KernelContext& context, const KernelCall& call, const Ending& ending = {});

}  // namespace tutti::kernels::cuda
