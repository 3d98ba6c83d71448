// The rows of sums, products and their like, for kernels that are more than one of them.
#pragma once

#include "tutti/exec/scalar_ops.h"
#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

// Of an op of the family Arithmetic; null where it does not take the dtype. Half precision is worked on as f32.
Row arithmetic_row(const ScalarOp& op, DType dtype);

}  // namespace tutti::kernels
