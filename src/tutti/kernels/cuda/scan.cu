#include "tutti/kernels/cuda/scan.h"

#include "tutti/exec/scan_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

template <bool multiplies>
static void scan(const KernelCall& call, KernelContext& context) {
  const Operand& in = device_input(call, 0);
  if (call.out().count() == 0) return;
  const auto attributes = call.attributes->as<ScanAttributes>();
  const ScanPlan plan(LineShape(in), attributes.times);
  const bool include_initial = attributes.include_initial;
  if (is_floating(in.dtype)) return scan_floats(plan, multiplies, include_initial, queue_of(context), call);
  scan_integers(plan, multiplies, include_initial, queue_of(context), call);
}

static std::int64_t scan_workspace(const OpCall&, const Inference& in) {
  const auto attributes = in.attributes<ScanAttributes>();
  return attributes.after > 0 ? 0 : ScanPlan(LineShape(in.shape(0)), attributes.times).carry_bytes();
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("Cumsum", scan<false>, scan_workspace) && register_cuda_kernel("Cumprod", scan<true>, scan_workspace);

}  // namespace tutti::kernels::cuda
