#include "tutti/kernels/cuda/rehearsal.h"

#include <algorithm>
#include <array>

#include "tutti/backends/cuda/driver.h"

namespace tutti::kernels::cuda {

void load_code(const std::function<void(cudaStream_t stream)>& launch) {
  const tutti::cuda::Driver& api = tutti::cuda::driver();
  CUstream stream = nullptr;
  if (api.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return;
  CUgraph graph = nullptr;
  if (api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
    launch(stream);
    if (api.cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) graph = nullptr;
  }
  std::array<CUgraphNode, 32> nodes{};  // a few kernels
  std::size_t count = nodes.size();
  if (graph != nullptr && api.cuGraphGetNodes(graph, nodes.data(), &count) == CUDA_SUCCESS) {
    for (std::size_t i = 0; i < std::min(count, nodes.size()); ++i) {
      CUgraphNodeType type{};
      CUDA_KERNEL_NODE_PARAMS kernel{};
      if (api.cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS || type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
      if (api.cuGraphKernelNodeGetParams(nodes[i], &kernel) != CUDA_SUCCESS) continue;
      if (kernel.func == nullptr && kernel.kern != nullptr) (void)api.cuKernelGetFunction(&kernel.func, kernel.kern);
      if (kernel.func != nullptr) (void)api.cuFuncLoad(kernel.func);
    }
  }
  if (graph != nullptr) api.cuGraphDestroy(graph);
  api.cuStreamDestroy(stream);
}

}  // namespace tutti::kernels::cuda
