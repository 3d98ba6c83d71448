// A layer of a network: a product of matrices that the library adds a row to on its way, and whose gradient it adds up.
#include <utility>

#include "tutti/exec/attributes.h"
#include "tutti/kernels/cuda/bias.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/operand_product.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

Operand transposed(Operand x) {
  std::swap(x.axes[0], x.axes[1]);
  return x;
}

// The library wants the bias dense: one that is not is copied to the beginning of the scratch memory.
std::int64_t copied_bytes(const Operand& bias) {
  constexpr std::int64_t alignment = 256;
  if (bias.axes[0].size == 1 || bias.axes[0].stride == 1) return 0;
  return (bias.count() * static_cast<std::int64_t>(size_of(bias.dtype)) + alignment - 1) / alignment * alignment;
}

Ending ending_of(const KernelCall& call) {
  const Operand& bias = device_input(call, 2);
  return {call.attributes->as<LinearAttributes>().relu ? Epilogue::bias_relu : Epilogue::bias,
          copied_bytes(bias) == 0 ? bias.data : call.scratch().data};
}

std::int64_t linear_bytes(const WorkspaceCall& call) {
  const Operand x = call.input(0);
  const Operand weight = call.input(1);
  return x.count() == 0 || weight.count() == 0 ? 0 : copied_bytes(call.input(2)) + operand_product_bytes(x, weight);
}

std::int64_t linear_gradient_bytes(const WorkspaceCall& call) {
  const Operand x = call.input(0);
  const Operand gradient = call.input(1);
  return x.count() == 0 || gradient.count() == 0 ? 0 : operand_product_bytes(transposed(x), gradient);
}

}  // namespace

static void linear(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  const Operand& weight = device_input(call, 1);
  const Operand& bias = device_input(call, 2);
  const Operand& out = call.out();
  if (out.count() == 0) return;
  Queue& queue = queue_of(context);
  const auto attributes = call.attributes->as<LinearAttributes>();
  const std::int64_t copied = copied_bytes(bias);
  if (x.count() != 0) {
    const Ending ending = ending_of(call);
    if (copied > 0) {
      Operand dense = bias;
      dense.data = ending.bias;
      dense.axes[0].stride = 1;
      copy_operand(bias, dense, queue, call);
    }
    if (multiply_operands(x, weight, out.data, call.scratch().data + copied, attributes.tf32, queue, call, ending)) return;
  }
  // The bias first, and the product is added to it: rounded once, too.
  Operand rows = bias;
  rows.rank = 2;
  rows.axes[1] = bias.axes[0];
  rows.axes[0] = {out.axes[0].size, 0};
  copy_operand(rows, out, queue, call);
  if (x.count() != 0)
    (void)multiply_operands(x, weight, out.data, call.scratch().data + copied, attributes.tf32, queue, call, {Epilogue::add});
  if (attributes.relu) rectify(out, queue, call);
}

static void prepare_linear(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  if (call.out().count() == 0 || x.count() == 0) return;
  prepare_operands(x, device_input(call, 1), call.out().data, call.scratch().data + copied_bytes(device_input(call, 2)),
                   call.attributes->as<LinearAttributes>().tf32, context, call, ending_of(call));
}

static void linear_gradient(const KernelCall& call, KernelContext& context) {
  const Operand x = transposed(device_input(call, 0));
  const Operand& gradient = device_input(call, 1);
  Queue& queue = queue_of(context);
  const bool tf32 = call.attributes->as<MatMulAttributes>().tf32;
  if (x.count() == 0 || gradient.count() == 0) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(call.out(i).count()) * size_of(gradient.dtype);
      if (bytes > 0) check(cudaMemsetAsync(call.out(i).data, 0, bytes, queue.stream()), "filling with zeros", call);
    }
    if (gradient.count() == 0) return;
  } else {
    std::byte* const scratch = call.scratch().data;
    if (multiply_operands(x, gradient, call.out(0).data, scratch, tf32, queue, call, {Epilogue::bias_gradient, call.out(1).data}))
      return;
    (void)multiply_operands(x, gradient, call.out(0).data, scratch, tf32, queue, call);
  }
  sum_rows(gradient, call.out(1), queue, call);
}

static void prepare_linear_gradient(const KernelCall& call, KernelContext& context) {
  const Operand x = transposed(device_input(call, 0));
  const Operand& gradient = device_input(call, 1);
  if (x.count() == 0 || gradient.count() == 0) return;
  prepare_operands(x, gradient, call.out(0).data, call.scratch().data, call.attributes->as<MatMulAttributes>().tf32, context,
                   call, {Epilogue::bias_gradient, call.out(1).data});
}

[[maybe_unused]] static const bool linear_is_registered =
    register_cuda_kernel("FusedMatMul", linear, workspace<linear_bytes>, floating_dtypes, prepare_linear) &&
    register_cuda_kernel("FusedMatMulGrad", linear_gradient, workspace<linear_gradient_bytes>, floating_dtypes,
                         prepare_linear_gradient);

}  // namespace tutti::kernels::cuda
