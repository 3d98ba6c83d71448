#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/kernels.h"

namespace tutti::kernels::cuda {

void exp(const KernelCall& call, KernelContext& context) {
  switch (call.out().dtype) {
    case DType::f16: return run_elementwise<Applied<Exp, __half>, __half, __half>(call, context);
    case DType::bf16: return run_elementwise<Applied<Exp, __nv_bfloat16>, __nv_bfloat16, __nv_bfloat16>(call, context);
    case DType::f32: return run_elementwise<Applied<Exp, float>, float, float>(call, context);
    case DType::f64: return run_elementwise<Applied<Exp, double>, double, double>(call, context);
    default: refuse_dtype(call, call.out().dtype);
  }
}

}  // namespace tutti::kernels::cuda
