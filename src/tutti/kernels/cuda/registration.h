// Enters a kernel in the op table for NVIDIA GPUs. Nothing of the op table or of tensors is needed to say so: what device code
// includes is parsed three times for each file that holds some.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/tensor/dtype_set.h"

namespace tutti {
struct OpCall;
class Inference;
}  // namespace tutti

namespace tutti::kernels::cuda {

// What the bytes that a kernel asks to work in are worked out from, before there is a call.
class WorkspaceCall {
 public:
  WorkspaceCall(const OpCall& call, const Inference& in) noexcept : call_(call), in_(in) {}

  [[nodiscard]] std::size_t inputs() const noexcept;
  // How it lies, without its address.
  [[nodiscard]] Operand input(std::size_t i) const noexcept;
  [[nodiscard]] const std::byte* address(std::size_t i) const noexcept;  // null: a number inside the call
  [[nodiscard]] std::size_t outputs() const noexcept;
  [[nodiscard]] std::int64_t output_elements() const noexcept;
  [[nodiscard]] const Attributes& attributes() const noexcept;

 private:
  const OpCall& call_;
  const Inference& in_;
};

// The op table's form of a workspace.
template <std::int64_t (*bytes)(const WorkspaceCall& call)>
std::int64_t workspace(const OpCall& call, const Inference& in) {
  return bytes(WorkspaceCall(call, in));
}

// Call it from the file that holds the kernel:
//   [[maybe_unused]] const bool is_registered = register_cuda_kernel("Sum", sum, workspace<sum_bytes>);
bool register_cuda_kernel(const char* op, Kernel kernel, std::int64_t (*workspace)(const OpCall&, const Inference&) = nullptr,
                          DTypes takes = any_dtype, void (*prepare)(const KernelCall&, KernelContext&) = nullptr);

}  // namespace tutti::kernels::cuda
