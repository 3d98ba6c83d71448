#include "tutti/kernels/cuda/scan.cuh"

namespace tutti::kernels::cuda {

void scan_integers(const ScanPlan& plan, bool multiplies, bool include_initial, Queue& queue, const KernelCall& call) {
  switch (call.in(0).dtype) {
    case DType::boolean:
    case DType::u8: return run_scan<std::uint8_t>(plan, multiplies, include_initial, queue, call);
    case DType::i8: return run_scan<std::int8_t>(plan, multiplies, include_initial, queue, call);
    case DType::i16: return run_scan<std::int16_t>(plan, multiplies, include_initial, queue, call);
    case DType::i32: return run_scan<std::int32_t>(plan, multiplies, include_initial, queue, call);
    default: return run_scan<std::int64_t>(plan, multiplies, include_initial, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
