// Matrix products.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti {

// (..., m, k) x (..., k, n) -> (..., m, n): NumPy's matmul, with vectors as matrices of one row or column. Dtypes promote.
Tensor matmul(const Tensor& a, const Tensor& b, Site site = {});

// Whether GPUs may round the inputs of f32 products to tf32 (10 bits of fraction) for speed. Off, unless the environment says
// TUTTI_ALLOW_TF32=1. Holds for the whole process, from the next call on.
void set_allow_tf32(bool allow) noexcept;
[[nodiscard]] bool allows_tf32() noexcept;

}  // namespace tutti
