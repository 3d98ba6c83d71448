// What the table says of an element-wise op beside its scalar function, with which it stands in scalar_functions.h.
#pragma once

#include <cstddef>

#include "tutti/tensor/dtype_set.h"

namespace tutti {

struct ScalarOp {
  const char* name;      // as TensorFlow's placement log has it
  const char* function;  // as a program calls it
  DTypes takes;          // all inputs have one dtype, which the output has too
  bool gives_bool = false;
  bool wraps = false;  // integers are worked on without their sign: the same bits come out, and overflow is defined
};

// A family of element-wise ops with the same number of inputs: what one file of a backend compiles.
template <int inputs_each, class... Functions>
struct ScalarOps {
  static constexpr int inputs = inputs_each;
  static constexpr std::size_t size = sizeof...(Functions);
};

}  // namespace tutti
