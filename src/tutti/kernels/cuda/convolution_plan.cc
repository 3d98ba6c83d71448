#include "tutti/kernels/cuda/convolution_plan.h"

#include <array>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/plan_cache.h"

namespace tutti::kernels::cuda {

namespace {

// cuDNN names axes in the order batch, channels, height, width, whatever lies where.
CudnnTensor images_tensor(const ConvolutionKey& key, std::int64_t uid, std::array<std::int64_t, 4> sizes) {
  const auto [n, c, h, w] = sizes;
  const bool is_last = key.attributes.window.channels_last;
  const std::vector<std::int64_t> strides =
      is_last ? std::vector<std::int64_t>{h * w * c, 1, w * c, c} : std::vector<std::int64_t>{c * h * w, h * w, w, 1};
  return {.uid = uid, .type = cudnn_type(key.dtype), .sizes = {n, c, h, w}, .strides = strides, .alignment = key.alignment};
}

struct PartNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution;
  cudnnBackendAttributeName_t images;
  cudnnBackendAttributeName_t weight;
  cudnnBackendAttributeName_t outputs;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
};
PartNames names_of(ConvolutionPart part) {
  switch (part) {
    case ConvolutionPart::of_images:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPart::of_weight:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    case ConvolutionPart::forward: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

CudnnGraph convolution_graph(const Cudnn& cudnn, const ConvolutionKey& key) {
  const WindowAxis& y = key.attributes.window.y;
  const WindowAxis& x = key.attributes.window.x;
  CudnnGraph graph(cudnn);
  const CudnnDescriptor& images = graph.tensor(images_tensor(key, images_uid, {key.images, key.channels_in, y.size, x.size}));
  const CudnnDescriptor& weight = graph.tensor(
      images_tensor(key, weight_uid, {key.channels_out, key.channels_in / key.attributes.groups, y.kernel, x.kernel}));
  const CudnnDescriptor& outputs =
      graph.tensor(images_tensor(key, outputs_uid, {key.images, key.channels_out, y.outputs, x.outputs}));
  CudnnDescriptor& convolution = graph.add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::array{y.padding, x.padding});
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::array{y.padding, x.padding});
  convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::array{y.stride, x.stride});
  convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::array{y.dilation, x.dilation});
  convolution.finalize();
  const PartNames names = names_of(key.part);
  CudnnDescriptor& operation = graph.add(names.operation);
  operation.set(names.convolution, convolution);
  operation.set(names.images, images);
  operation.set(names.weight, weight);
  operation.set(names.outputs, outputs);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  operation.finalize();
  graph.add_operation(operation);
  return graph;
}

}  // namespace

std::shared_ptr<const CudnnPlan> convolution_plan(const ConvolutionKey& key, Site site) {
  static auto* const plans = new PlanCache<ConvolutionKey>;  // outlive every thread
  return plans->find_or(key, [&]() -> std::shared_ptr<const CudnnPlan> {
    const Cudnn* const cudnn = find_cudnn(site);
    CudnnHandle* const handle = cudnn != nullptr ? cudnn_handle(key.ordinal, site) : nullptr;
    if (handle == nullptr) return nullptr;
    const BlockingRegion choosing(SyncReason::module_load, site);
    const bool is_exact = key.dtype == DType::f32 && !key.attributes.tf32;
    try {
      return std::make_shared<const CudnnPlan>(convolution_graph(*cudnn, key), *handle,
                                               CudnnLimits{.tensor_cores = !is_exact,
                                                           .downconverted = !is_exact,
                                                           .deterministic = key.attributes.deterministic,
                                                           .is_by_clock = !key.attributes.deterministic});
    } catch (const CudnnRefusal& refusal) {
      log(LogLevel::debug, text("conv2d is computed without cuDNN: ", refusal.what));
      return nullptr;
    }
  });
}

}  // namespace tutti::kernels::cuda
