#include "tutti/kernels/cuda/cast.cuh"
#include "tutti/kernels/cuda/cast.h"

namespace tutti::kernels::cuda {

bool cast_dense_to_floating(const KernelCall& call, Queue& queue) {
  switch (call.out().dtype) {
    case DType::f16: return cast_dense<__half>(call, queue);
    case DType::bf16: return cast_dense<__nv_bfloat16>(call, queue);
    case DType::f32: return cast_dense<float>(call, queue);
    case DType::f64: return cast_dense<double>(call, queue);
    default: return false;
  }
}

}  // namespace tutti::kernels::cuda
