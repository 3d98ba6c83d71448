// A GPU's memory for one logical device: a range of virtual addresses in which physical memory is mapped as it is needed.
#pragma once

#include "tutti/backends/cuda/context.h"
#include "tutti/backends/cuda/virtual_range.h"
#include "tutti/hal/memory_space.h"

namespace tutti {

// TUTTI_CUDA_PLAIN_MEMORY=bytes: one plain allocation of that size instead of mappings, for tools that cannot follow those.
class CudaMemorySpace final : public MemorySpace {
 public:
  CudaMemorySpace(cuda::Context& context, std::size_t capacity);

  [[nodiscard]] std::byte* base() const noexcept override { return is_plain_ ? plain_ : mapped_.base(); }
  [[nodiscard]] std::size_t range() const noexcept override { return is_plain_ ? capacity_ : mapped_.size(); }
  [[nodiscard]] std::size_t granule() const noexcept override { return cuda::VirtualRange::granule; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return capacity_; }
  void prepare(Site site) override {
    if (!context_.is_lost()) context_.enter(site);
  }
  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override;
  void unmap(std::size_t offset, std::size_t bytes) noexcept override;
  [[nodiscard]] Part releasable(std::size_t offset, std::size_t bytes) const noexcept override;
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] FailureRef loss() const override { return context_.loss(); }
  [[nodiscard]] bool is_host_visible() const noexcept override { return false; }

 private:
  cuda::Context& context_;
  std::size_t capacity_;
  cuda::VirtualRange mapped_;
  bool is_plain_ = false;
  std::byte* plain_ = nullptr;
};

}  // namespace tutti
