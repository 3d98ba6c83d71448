#include "tutti/kernels/cuda/total_product.cuh"

namespace tutti::kernels::cuda {

template <class T>
using ProductOfFloats = ProductOf<T, TotalProduct<T, double>>;

void multiply_floats(const ReductionPlan& plan, DType dtype, std::int64_t times, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, ProductOfFloats<__half>{{times}}, queue, call);
    case DType::bf16: return run_reduction(plan, ProductOfFloats<__nv_bfloat16>{{times}}, queue, call);
    case DType::f32: return run_reduction(plan, ProductOfFloats<float>{{times}}, queue, call);
    default: return run_reduction(plan, ProductOfFloats<double>{{times}}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
