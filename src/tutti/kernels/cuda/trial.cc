#include "tutti/kernels/cuda/trial.h"

#include <algorithm>
#include <limits>

namespace tutti::kernels::cuda {

TrialMemory::TrialMemory(std::span<const std::int64_t> bytes) {
  std::size_t end = 0;
  for (const std::int64_t each : bytes) {
    starts_.push_back(end);
    end += (static_cast<std::size_t>(each) + 511) / 256 * 256;
  }
  void* memory = nullptr;
  if (cudaMalloc(&memory, end) != cudaSuccess) {
    (void)cudaGetLastError();
    return;
  }
  first_ = static_cast<std::byte*>(memory);
  (void)cudaMemset(memory, 0x3c, end);
}
TrialMemory::~TrialMemory() {
  if (first_ != nullptr) (void)cudaFree(first_);
}

Trial::Trial() {
  (void)(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess && cudaEventCreate(&begin_) == cudaSuccess &&
         cudaEventCreate(&end_) == cudaSuccess);
}
Trial::~Trial() {
  if (end_ != nullptr) (void)cudaEventDestroy(end_);
  if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

float Trial::milliseconds(const std::function<bool(cudaStream_t stream)>& launch, int runs) {
  constexpr float never = std::numeric_limits<float>::infinity();
  if (end_ == nullptr || cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed) != cudaSuccess) return never;
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
