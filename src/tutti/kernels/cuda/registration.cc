#include "tutti/kernels/cuda/registration.h"

#include "tutti/exec/op_call.h"
#include "tutti/exec/op_table.h"

namespace tutti::kernels::cuda {

std::size_t WorkspaceCall::inputs() const noexcept { return in_.inputs(); }

Operand WorkspaceCall::input(std::size_t i) const noexcept {
  const OpInput& input = call_.inputs()[i];
  Operand operand;
  operand.dtype = input.dtype();
  operand.is_immediate = input.tensor == nullptr;
  if (operand.is_immediate) return operand;
  const TensorImpl& tensor = *input.tensor;
  operand.rank = static_cast<std::uint8_t>(tensor.shape().size());
  for (std::size_t axis = 0; axis < operand.rank; ++axis) operand.axes[axis] = {tensor.shape()[axis], tensor.strides()[axis]};
  return operand;
}

const std::byte* WorkspaceCall::address(std::size_t i) const noexcept {
  const TensorImpl* const tensor = call_.inputs()[i].tensor;
  return tensor == nullptr ? nullptr : tensor->kernel_address();
}

std::size_t WorkspaceCall::outputs() const noexcept { return in_.outputs(); }

std::int64_t WorkspaceCall::output_elements() const noexcept { return element_count(in_.output_at(0).shape).value_or(0); }

const Attributes& WorkspaceCall::attributes() const noexcept { return call_.attributes; }

bool register_cuda_kernel(const char* op, Kernel kernel, Workspace workspace, DTypes takes, Prepare prepare) {
  return register_kernel(op, BackendKind::cuda, kernel, workspace, takes, prepare);
}

}  // namespace tutti::kernels::cuda
