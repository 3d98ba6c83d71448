#include "tutti/kernels/cuda/scan.cuh"

namespace tutti::kernels::cuda {

void cumulative_sum(const ScanPlan& plan, bool include_initial, Queue& queue, const KernelCall& call) {
  const Operand& in = call.in(0);
  const Operand& out = call.out();
  if (!is_floating(in.dtype)) {
    return run_scan<ScansOfIntegers<false>>(plan, include_initial, {in.data, in.dtype}, out.as<std::int64_t>(), queue, call);
  }
  visit_stored<floating_dtypes>(
      in.dtype, [&]<class T>(T) { run_scan<SumsOfFloats<T>>(plan, include_initial, in.as<T>(), out.as<T>(), queue, call); });
}

}  // namespace tutti::kernels::cuda
