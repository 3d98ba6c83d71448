// A range of the driver's virtual addresses in which memory of one place, a GPU or the host, is mapped piece by piece.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "tutti/backends/cuda/driver.h"
#include "tutti/hal/memory_space.h"

namespace tutti::cuda {

class VirtualRange {
 public:
  static constexpr std::size_t granule = std::size_t{2} << 20U;

  // Addresses cost nothing. False: the driver has none to give.
  [[nodiscard]] bool reserve(std::size_t bytes) noexcept;
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Empty when mapped, else what the driver says. All or nothing.
  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes, CUmemLocation where,
                                std::span<const CUmemLocation> accessible_from);
  void unmap(std::size_t offset, std::size_t bytes) noexcept;
  // The whole pieces inside a part: only those can be unmapped.
  [[nodiscard]] MemorySpace::Part whole_pieces(std::size_t offset, std::size_t bytes) const noexcept;

 private:
  // Few enough that mapping a gigabyte takes under a millisecond, small enough that trimming finds whole ones.
  static constexpr std::size_t largest_piece = std::size_t{64} << 20U;

  [[nodiscard]] CUdeviceptr at(std::size_t offset) const noexcept { return reinterpret_cast<CUdeviceptr>(base_ + offset); }

  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::map<std::size_t, std::size_t> pieces_;  // offset and size of what was mapped as one
};

}  // namespace tutti::cuda
