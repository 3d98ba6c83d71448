#include "tutti/kernels/cuda/scan.cuh"

namespace tutti::kernels::cuda {

void scan_floats(const ScanPlan& plan, bool multiplies, bool include_initial, Queue& queue, const KernelCall& call) {
  switch (call.in(0).dtype) {
    case DType::f16: return run_scan<__half>(plan, multiplies, include_initial, queue, call);
    case DType::bf16: return run_scan<__nv_bfloat16>(plan, multiplies, include_initial, queue, call);
    case DType::f32: return run_scan<float>(plan, multiplies, include_initial, queue, call);
    default: return run_scan<double>(plan, multiplies, include_initial, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
