// The addresses of one logical device: a reserved range in which memory is mapped and unmapped in granules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tutti/base/site.h"
#include "tutti/hal/failure.h"

namespace tutti {

class MemorySpace {
 public:
  MemorySpace() = default;
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;
  virtual ~MemorySpace() = default;

  [[nodiscard]] virtual std::byte* base() const noexcept = 0;
  // Size of the reserved range: larger than the capacity, so holes left by trimming do not matter.
  [[nodiscard]] virtual std::size_t range() const noexcept = 0;
  // Offsets and sizes passed to map and unmap are multiples of this.
  [[nodiscard]] virtual std::size_t granule() const noexcept = 0;
  // Bytes the device can back with real memory.
  [[nodiscard]] virtual std::size_t capacity() const noexcept = 0;

  // The most to map ahead of need.
  [[nodiscard]] virtual std::size_t largest_step() const noexcept { return std::size_t{1} << 30U; }

  // Makes what mapping needs and the device makes late, a context: before any lock is taken. May block, through the door. Throws
  // DeviceLost.
  virtual void prepare(Site) {}
  // Empty: mapped. Otherwise the reason why the device refused. May block: call through the door.
  [[nodiscard]] virtual std::string map(std::size_t offset, std::size_t bytes) = 0;
  virtual void unmap(std::size_t offset, std::size_t bytes) noexcept = 0;

  struct Part {
    std::size_t offset;
    std::size_t bytes;
  };
  // The largest part of a mapped range that unmap takes: some devices give memory back only in the pieces it was mapped in.
  [[nodiscard]] virtual Part releasable(std::size_t offset, std::size_t bytes) const noexcept { return {offset, bytes}; }

  // Added to an address of this space it gives the address a kernel of this device uses. Zero where they are the same.
  [[nodiscard]] virtual std::ptrdiff_t kernel_offset() const noexcept = 0;
  // Why nothing can be mapped any more: the device is lost. Null while it is not.
  [[nodiscard]] virtual FailureRef loss() const { return nullptr; }
  // True where the host may touch the addresses themselves.
  [[nodiscard]] virtual bool is_host_visible() const noexcept = 0;
};

}  // namespace tutti
