#include "tutti/kernels/cuda/sum_kernels.cuh"

namespace tutti::kernels::cuda {

void sum_floats(const SumPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_sum<__half, __half>(plan, queue, call);
    case DType::bf16: return run_sum<__nv_bfloat16, __nv_bfloat16>(plan, queue, call);
    case DType::f32: return run_sum<float, float>(plan, queue, call);
    default: return run_sum<double, double>(plan, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
