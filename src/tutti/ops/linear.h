// A layer of a network as one op: a product of matrices, and a row that is added to each of its rows.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti {

// x of shape (..., inputs) times weight (inputs, outputs), plus bias (outputs): matmul(x, weight) + bias in one pass. Floats;
// dtypes promote. Half precision is rounded once. An undefined bias is left out.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Site site = {});

}  // namespace tutti
