// Maps a device's memory in granules as it is needed, in steps that double, or nearly all of it at the first request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/hal/memory_space.h"
#include "tutti/memory/memory_resource.h"
#include "tutti/memory/pool_lock.h"

namespace tutti {

class GrowthResource {
 public:
  // `lock`: the one that is held around every call; those who wait for it are told when mapping makes that long.
  GrowthResource(MemorySpace& space, bool growth, PoolLock* lock = nullptr) noexcept
      : space_(space), growth_(growth), lock_(lock) {}
  GrowthResource(const GrowthResource&) = delete;
  GrowthResource& operator=(const GrowthResource&) = delete;

  Extent map(std::size_t least, std::size_t most, std::byte* at, Site site);
  void unmap(Extent extent, Site site);
  [[nodiscard]] Extent releasable(Extent extent) const noexcept {
    const auto part = space_.releasable(static_cast<std::size_t>(extent.address - space_.base()), extent.bytes);
    return {space_.base() + part.offset, part.bytes};
  }

  [[nodiscard]] std::uint64_t mapped() const noexcept { return mapped_; }
  [[nodiscard]] std::uint64_t room() const noexcept { return space_.range() - mapped_; }
  [[nodiscard]] std::string refusal() const { return refusal_; }
  [[nodiscard]] std::byte* base() const noexcept { return space_.base(); }
  [[nodiscard]] std::size_t granule() const noexcept { return space_.granule(); }

 private:
  struct Range {
    std::size_t offset;
    std::size_t bytes;
    [[nodiscard]] std::size_t end() const noexcept { return offset + bytes; }
  };
  static constexpr std::size_t first_step = std::size_t{2} << 20U;

  [[nodiscard]] std::size_t step() const noexcept;
  // The unmapped range that begins at `at`, or the lowest one that is large enough; empty when there is none.
  [[nodiscard]] Range find_hole(std::size_t least, std::byte* at) const noexcept;
  void note_mapped(Range range);

  MemorySpace& space_;
  bool growth_;
  PoolLock* lock_;
  std::uint64_t mapped_ = 0;
  std::uint64_t most_mapped_ = 0;  // so far
  std::vector<Range> ranges_;      // what is mapped, ascending, never touching
  std::string refusal_;
};
static_assert(MappedMemory<GrowthResource>);

}  // namespace tutti
