// How long a launch takes, tried out on memory of its own: for choices by the clock.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tutti::kernels::cuda {

// Device memory in pieces, filled with small numbers of whatever dtype.
class TrialMemory {
 public:
  explicit TrialMemory(std::span<const std::int64_t> bytes);
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  // False: there is not so much memory.
  explicit operator bool() const noexcept { return first_ != nullptr; }
  std::byte* operator[](std::size_t piece) const { return first_ + starts_[piece]; }

 private:
  std::byte* first_ = nullptr;
  std::vector<std::size_t> starts_;
};

class Trial {
 public:
  Trial();
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Of one run, the best of a few times `runs` in a row, as one graph: what the host needs for a launch does not count. Infinite
  // where launch() says that it cannot be run.
  float milliseconds(const std::function<bool(cudaStream_t stream)>& launch, int runs);

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace tutti::kernels::cuda
