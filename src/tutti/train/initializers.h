// First values of variables.
#pragma once

#include <cstdint>
#include <functional>

#include "tutti/tensor/tensor.h"

namespace tutti {

// Makes a tensor of that shape and dtype. A kernel's axes are (outputs, inputs, window ...), or (inputs, outputs) of a matrix.
using Initializer = std::function<Tensor(const Shape& shape, DType dtype, Site site)>;

Tensor zeros_initializer(const Shape& shape, DType dtype, Site site);
Tensor ones_initializer(const Shape& shape, DType dtype, Site site);
// Uniform within sqrt(6 / (inputs + outputs)): Glorot and Bengio.
Tensor glorot_uniform(const Shape& shape, DType dtype, Site site);
// Normal with variance 2 / inputs: He and others, for rectifiers.
Tensor he_normal(const Shape& shape, DType dtype, Site site);
Initializer normal_initializer(double deviation);

}  // namespace tutti
