// Host memory as a device's memory: the addresses kernels and the host use are the same.
#pragma once

#include "tutti/backends/strand/mapped_range.h"
#include "tutti/hal/memory_space.h"

namespace tutti {

class CpuMemorySpace final : public MemorySpace {
 public:
  explicit CpuMemorySpace(std::size_t capacity);

  [[nodiscard]] std::byte* base() const noexcept override { return memory_.base(); }
  [[nodiscard]] std::size_t range() const noexcept override { return memory_.size(); }
  [[nodiscard]] std::size_t granule() const noexcept override { return MappedRange::granule; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return capacity_; }
  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override { return memory_.commit(offset, bytes); }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override { memory_.give_back(offset, bytes); }
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] bool is_host_visible() const noexcept override { return true; }

 private:
  std::size_t capacity_;
  MappedRange memory_;
};

}  // namespace tutti
