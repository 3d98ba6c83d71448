#include "tutti/ops/activation.h"

#include "tutti/ops/scalar_call.h"

namespace tutti {

using detail::unary;

Tensor relu(TensorArg x, Site site) { return unary<scalar::Relu>(x, site); }
Tensor sigmoid(TensorArg x, Site site) { return unary<scalar::Sigmoid>(x, site); }
Tensor silu(TensorArg x, Site site) { return unary<scalar::Silu>(x, site); }
Tensor gelu(TensorArg x, const GeluOptions& options, Site site) {
  return options.form == GeluForm::exact ? unary<scalar::Gelu>(x, site) : unary<scalar::GeluTanh>(x, site);
}

}  // namespace tutti
