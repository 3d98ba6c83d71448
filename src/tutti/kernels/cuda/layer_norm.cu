#include "tutti/kernels/cuda/layer_norm.cuh"

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

static void layer_norm(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<LayerNormAttributes>();
  Queue& queue = queue_of(context);
  for (std::size_t i = 0; i < call.inputs; ++i) (void)device_input(call, i);
  switch (call.in(0).dtype) {
    case DType::f32: return run_layer_norm<float>(call, queue, attributes);
    case DType::f64: return run_layer_norm<double>(call, queue, attributes);
    default: return layer_norm_halves(call, queue, attributes);
  }
}

static std::int64_t layer_norm_workspace(const OpCall&, const Inference& in) {
  const LineShape shape(in.shape(0), static_cast<std::size_t>(in.attributes<LayerNormAttributes>().axes));
  if (shape.length <= LineParts::least) return 0;
  return shape.lines * LineParts(shape.length).count * static_cast<std::int64_t>(sizeof(Moments));
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("LayerNorm", layer_norm, layer_norm_workspace, floating_dtypes);

}  // namespace tutti::kernels::cuda
