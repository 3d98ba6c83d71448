// Host memory that a GPU copies from and to by itself.
#pragma once

#include "tutti/backends/cuda/context.h"
#include "tutti/backends/cuda/virtual_range.h"
#include "tutti/hal/memory_space.h"

namespace tutti {

// Mapped piece by piece like the GPU's own memory, because a copy may span such pieces but not registered ones. Where the
// driver cannot do that for host memory, one registered slab of fixed size takes its place.
class PinnedSpace final : public MemorySpace {
 public:
  explicit PinnedSpace(cuda::Context& context);

  [[nodiscard]] std::byte* base() const noexcept override { return is_slab() ? slab_ : mapped_.base(); }
  [[nodiscard]] std::size_t range() const noexcept override { return is_slab() ? slab_bytes : mapped_.size(); }
  [[nodiscard]] std::size_t granule() const noexcept override { return cuda::VirtualRange::granule; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return range(); }
  [[nodiscard]] std::size_t largest_step() const noexcept override { return std::size_t{16} << 20U; }
  void prepare(Site site) override {
    if (!context_.is_lost()) context_.enter(site);
  }
  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override;
  void unmap(std::size_t offset, std::size_t bytes) noexcept override;
  [[nodiscard]] Part releasable(std::size_t offset, std::size_t bytes) const noexcept override;
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] FailureRef loss() const override { return context_.loss(); }
  [[nodiscard]] bool is_host_visible() const noexcept override { return true; }

  [[nodiscard]] bool contains(const void* address) const noexcept { return address >= base() && address < base() + range(); }

 private:
  static constexpr std::size_t slab_bytes = std::size_t{64} << 20U;

  [[nodiscard]] bool is_slab() const noexcept { return slab_ != nullptr; }

  cuda::Context& context_;
  cuda::VirtualRange mapped_;
  int numa_node_ = 0;  // of the host memory nearest to the GPU
  std::byte* slab_ = nullptr;
  bool is_registered_ = false;
};

}  // namespace tutti
