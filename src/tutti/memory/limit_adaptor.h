// A hard limit on the bytes mapped from the layer below, in whole granules; it may be moved at any time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tutti/memory/growth_resource.h"
#include "tutti/memory/memory_resource.h"

namespace tutti {

template <MappedMemory Upstream>
class LimitAdaptor {
 public:
  template <class... Args>
  explicit LimitAdaptor(std::uint64_t limit, Args&&... args) : upstream_(std::forward<Args>(args)...), limit_(limit) {}

  Extent map(std::size_t least, std::size_t most, std::byte* at, Site site) {
    refused_here_ = least > room();
    if (refused_here_) return {};
    return upstream_.map(least, std::min<std::uint64_t>(most, room()), at, site);
  }
  void unmap(Extent extent, Site site) { upstream_.unmap(extent, site); }
  [[nodiscard]] Extent releasable(Extent extent) const noexcept { return upstream_.releasable(extent); }

  [[nodiscard]] std::uint64_t mapped() const noexcept { return upstream_.mapped(); }
  [[nodiscard]] std::uint64_t room() const noexcept {
    const std::uint64_t left = most_mapped(limit_) > mapped() ? most_mapped(limit_) - mapped() : 0;
    return std::min(left, upstream_.room());
  }
  // What a limit lets through: the granule it ends in is whole.
  [[nodiscard]] std::uint64_t most_mapped(std::uint64_t limit) const noexcept {
    const std::uint64_t over = limit % granule();
    return over == 0 ? limit : limit - over + granule();
  }
  [[nodiscard]] std::string refusal() const { return refused_here_ ? std::string() : upstream_.refusal(); }
  [[nodiscard]] std::byte* base() const noexcept { return upstream_.base(); }
  [[nodiscard]] std::size_t granule() const noexcept { return upstream_.granule(); }

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  // Below mapped() nothing more is mapped until enough has been unmapped.
  void set_limit(std::uint64_t bytes) noexcept { limit_ = bytes; }

 private:
  Upstream upstream_;
  std::uint64_t limit_;
  bool refused_here_ = false;
};
static_assert(MappedMemory<LimitAdaptor<GrowthResource>>);

}  // namespace tutti
