#include "tutti/kernels/cuda/softmax.cuh"

namespace tutti::kernels::cuda {

void softmax_halves(const KernelCall& call, Queue& queue, bool is_log) {
  if (call.in(0).dtype == DType::f16) return run_softmax<__half>(call, queue, is_log);
  run_softmax<__nv_bfloat16>(call, queue, is_log);
}

}  // namespace tutti::kernels::cuda
