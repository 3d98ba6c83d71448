// A simulated GPU's memory: device addresses that fault when the host touches them, and a shadow that kernels use.
#pragma once

#include "tutti/backends/strand/mapped_range.h"
#include "tutti/hal/memory_space.h"

namespace tutti {

class SimMemorySpace final : public MemorySpace {
 public:
  explicit SimMemorySpace(std::size_t capacity);

  [[nodiscard]] std::byte* base() const noexcept override { return addresses_.base(); }
  [[nodiscard]] std::size_t range() const noexcept override { return addresses_.size(); }
  [[nodiscard]] std::size_t granule() const noexcept override { return MappedRange::granule; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return capacity_; }
  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override;
  void unmap(std::size_t offset, std::size_t bytes) noexcept override { shadow_.give_back(offset, bytes); }
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override;
  [[nodiscard]] bool is_host_visible() const noexcept override { return false; }

 private:
  std::size_t capacity_;
  MappedRange addresses_;  // never committed
  MappedRange shadow_;
};

// The host memory such a GPU copies from and to when it is as particular as a real one.
class SimStagingSpace final : public MemorySpace {
 public:
  explicit SimStagingSpace(std::size_t capacity) : memory_(MappedRange::range_for(capacity)) {}

  [[nodiscard]] std::byte* base() const noexcept override { return memory_.base(); }
  [[nodiscard]] std::size_t range() const noexcept override { return memory_.size(); }
  [[nodiscard]] std::size_t granule() const noexcept override { return MappedRange::granule; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return memory_.size() / 2; }
  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override { return memory_.commit(offset, bytes); }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override { memory_.give_back(offset, bytes); }
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] bool is_host_visible() const noexcept override { return true; }

  [[nodiscard]] bool contains(const void* address) const noexcept { return address >= base() && address < base() + range(); }

 private:
  MappedRange memory_;
};

}  // namespace tutti
