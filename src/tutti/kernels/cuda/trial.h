// How long a launch takes, tried out on memory of its own: for choices by the clock.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tutti::kernels::cuda {

class Trial {
 public:
  // With device memory in pieces of so many bytes, beside the pool, filled with small numbers of whatever dtype. Blocks, as all
  // it does.
  explicit Trial(std::span<const std::int64_t> bytes);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // False: there is not so much memory.
  explicit operator bool() const noexcept { return first_ != nullptr; }
  [[nodiscard]] std::byte* memory(std::size_t piece) const { return first_ + starts_[piece]; }

  // Of one run, the best of a few times `runs` in a row, as one graph: what the host needs for a launch does not count. Infinite
  // where launch() says that it cannot be run.
  float milliseconds(const std::function<bool(cudaStream_t stream)>& launch, int runs);

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::byte* first_ = nullptr;
  std::vector<std::size_t> starts_;
};

}  // namespace tutti::kernels::cuda
