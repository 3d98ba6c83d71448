#include "tutti/kernels/cuda/scan.cuh"

namespace tutti::kernels::cuda {

void cumulative_product(const ScanPlan& plan, bool include_initial, Queue& queue, const KernelCall& call) {
  const Operand& in = call.in(0);
  const Operand& out = call.out();
  if (is_floating(in.dtype)) {
    return run_scan<ProductsOfFloats>(plan, include_initial, {in.data, in.dtype}, {out.data, out.dtype}, queue, call);
  }
  run_scan<ScansOfIntegers<true>>(plan, include_initial, {in.data, in.dtype}, out.as<std::int64_t>(), queue, call);
}

}  // namespace tutti::kernels::cuda
