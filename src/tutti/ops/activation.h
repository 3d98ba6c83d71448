// Activations of neural networks, element by element.
#pragma once

#include "tutti/ops/tensor_arg.h"

namespace tutti {

// max(x, 0); NaN stays.
Tensor relu(TensorArg x, Site site = {});
// 1 / (1 + e^-x). Floating dtypes only, like those below.
Tensor sigmoid(TensorArg x, Site site = {});
// x sigmoid(x).
Tensor silu(TensorArg x, Site site = {});

enum class GeluForm : std::uint8_t { exact, by_tanh };
struct GeluOptions {
  GeluForm form = GeluForm::exact;
};
// x times the chance that a standard normal number lies below it: by the error function, or nearly so by tanh.
Tensor gelu(TensorArg x, const GeluOptions& options = {}, Site site = {});

}  // namespace tutti
