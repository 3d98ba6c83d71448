#include "tutti/kernels/cuda/device_input.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::kernels::cuda {

const Operand& device_input(const KernelCall& call, std::size_t i) {
  if (call.in(i).is_immediate) [[unlikely]]
    throw KernelFailed(text("input #", i, " is a number inside the call; this op takes tensors. Make one with full()"),
                       call.site);
  return call.in(i);
}

Operand operand_of(const TensorImpl& tensor) noexcept {
  Operand operand;
  operand.dtype = tensor.dtype();
  operand.rank = static_cast<std::uint8_t>(tensor.shape().size());
  for (std::size_t i = 0; i < operand.rank; ++i) operand.axes[i] = {tensor.shape()[i], tensor.strides()[i]};
  return operand;
}

}  // namespace tutti::kernels::cuda
