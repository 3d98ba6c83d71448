#include "tutti/kernels/cuda/softmax.cuh"

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

template <bool is_log>
static void softmax(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  switch (device_input(call, 0).dtype) {
    case DType::f32: return run_softmax<float>(call, queue, is_log);
    case DType::f64: return run_softmax<double>(call, queue, is_log);
    default: return softmax_halves(call, queue, is_log);
  }
}

// Asked for before it is known whether packs can be had: a line that may have to be cut.
static std::int64_t softmax_workspace(const OpCall&, const Inference& in) {
  const LineShape shape(in.shape(0));
  if (in.attributes<SoftmaxAttributes>().after > 0) return 0;
  return shape.length > LineParts::least ? exp_part_bytes(shape) : 0;
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("Softmax", softmax<false>, softmax_workspace, floating_dtypes) &&
    register_cuda_kernel("LogSoftmax", softmax<true>, softmax_workspace, floating_dtypes);

}  // namespace tutti::kernels::cuda
