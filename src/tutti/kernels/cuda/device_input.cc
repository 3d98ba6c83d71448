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

}  // namespace tutti::kernels::cuda
