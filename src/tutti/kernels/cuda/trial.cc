#include "tutti/kernels/cuda/trial.h"

#include <algorithm>
#include <limits>

namespace tutti::kernels::cuda {

Trial::Trial(std::span<const std::int64_t> bytes) {
  std::size_t all = 0;
  for (const std::int64_t each : bytes) {
    starts_.push_back(all);
    all += (static_cast<std::size_t>(each) + 511) / 256 * 256;
  }
  void* memory = nullptr;
  const bool is_made = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess &&
                       cudaEventCreate(&begin_) == cudaSuccess && cudaEventCreate(&end_) == cudaSuccess &&
                       cudaMalloc(&memory, all) == cudaSuccess;
  if (!is_made) {
    (void)cudaGetLastError();
    return;
  }
  first_ = static_cast<std::byte*>(memory);
  (void)cudaMemsetAsync(memory, 0x3c, all, stream_);
}
Trial::~Trial() {
  if (first_ != nullptr) (void)cudaFree(first_);
  if (end_ != nullptr) (void)cudaEventDestroy(end_);
  if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

float Trial::milliseconds(const std::function<bool(cudaStream_t stream)>& launch, int runs) {
  constexpr float never = std::numeric_limits<float>::infinity();
  if (first_ == nullptr || cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed) != cudaSuccess) return never;
  bool runs_well = true;
  for (int i = 0; i < runs && runs_well; ++i) runs_well = launch(stream_);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t all = nullptr;
  runs_well = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && runs_well;
  runs_well = runs_well && cudaGraphInstantiate(&all, graph, 0) == cudaSuccess;
  float best = never;
  for (int i = 0; i < 4 && runs_well; ++i) {  // the first warms up
    float took = 0;
    runs_well = cudaEventRecord(begin_, stream_) == cudaSuccess && cudaGraphLaunch(all, stream_) == cudaSuccess &&
                cudaEventRecord(end_, stream_) == cudaSuccess && cudaEventSynchronize(end_) == cudaSuccess &&
                cudaEventElapsedTime(&took, begin_, end_) == cudaSuccess;
    if (i > 0 && runs_well) best = std::min(best, took / static_cast<float>(runs));
  }
  if (all != nullptr) (void)cudaGraphExecDestroy(all);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  if (!runs_well) (void)cudaGetLastError();
  return runs_well ? best : never;
}

}  // namespace tutti::kernels::cuda
