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
  const ScanPlan plan{LineShape(in)};
  multiplies ? cumulative_product(plan, attributes.include_initial, queue_of(context), call)
             : cumulative_sum(plan, attributes.include_initial, queue_of(context), call);
}

static std::int64_t scan_bytes(const WorkspaceCall& call) {
  const auto attributes = call.attributes().as<ScanAttributes>();
  return attributes.after > 0 ? 0 : ScanPlan(LineShape(call.input(0))).carry_bytes();
}

[[maybe_unused]] static const bool scan_is_registered = register_cuda_kernel("Cumsum", scan<false>, workspace<scan_bytes>) &&
                                                        register_cuda_kernel("Cumprod", scan<true>, workspace<scan_bytes>);

}  // namespace tutti::kernels::cuda
