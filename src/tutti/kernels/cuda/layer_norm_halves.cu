#include "tutti/kernels/cuda/layer_norm.cuh"

namespace tutti::kernels::cuda {

void layer_norm_halves(const KernelCall& call, Queue& queue, const LayerNormAttributes& attributes) {
  if (call.in(0).dtype == DType::f16) return run_layer_norm<__half>(call, queue, attributes);
  run_layer_norm<__nv_bfloat16>(call, queue, attributes);
}

}  // namespace tutti::kernels::cuda
