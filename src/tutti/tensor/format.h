// Tensors as text: what NumPy prints for the same array, and the line TensorFlow puts around it.
#pragma once

#include <cstddef>
#include <string>

#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

// What NumPy's str() gives with its default print options. `data` is host memory, dense in row-major order. bfloat16, which
// NumPy does not have, is printed as the float32 it stands for.
std::string format_elements(const std::byte* data, DType dtype, const Shape& shape);

// "tutti.Tensor([1 2 3], shape=(3,), dtype=int32)"; elements of more than one line start on a line of their own.
std::string tensor_repr(const std::byte* data, DType dtype, const Shape& shape);

}  // namespace tutti
