// Matrix products.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti {

// (..., m, k) x (..., k, n) -> (..., m, n): NumPy's matmul, with vectors as matrices of one row or column. Dtypes promote.
Tensor matmul(const Tensor& a, const Tensor& b, Site site = {});

}  // namespace tutti
