// Rows of sums and of relu, for kernels that are more than one.
#pragma once

#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

// Bools, i32, i64 and floats.
Row add_row(DType dtype);
// Of floats that have a row of their own.
Row relu_row(DType dtype);

}  // namespace tutti::kernels
