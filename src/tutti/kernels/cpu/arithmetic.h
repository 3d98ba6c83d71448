// The row of sums, for kernels that are more than one.
#pragma once

#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

// Bools, i32, i64 and floats.
Row add_row(DType dtype);

}  // namespace tutti::kernels
