// The attribute structs of the built-in ops, shared by the functions that fill them and the kernels that read them.
#pragma once

#include <array>
#include <cstdint>

#include "tutti/tensor/shape.h"

namespace tutti {

struct UniformAttributes {
  std::uint64_t key = 0;      // Philox key
  std::uint64_t counter = 0;  // the first Philox block; a draw of n elements uses fewer than n blocks
  double low = 0;
  double high = 1;
};

// A call without attributes means the default.
struct MatMulAttributes {
  bool tf32 = false;  // f32 inputs may be rounded to tf32 on the way in, where the GPU gains by it
};

struct LinearAttributes {
  bool tf32 = false;
  bool relu = false;  // of the sum; a captured graph joins the two so
};

struct TakeAttributes {
  std::int32_t axis = 0;
};

}  // namespace tutti
