// Knows who owns what: live bytes by call site, the figures of leak and out-of-memory reports.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/memory/device_memory.h"
#include "tutti/memory/memory_resource.h"

namespace tutti {

// A block carries its site, so an allocation costs nothing here; the sums are made when someone asks.
template <MemoryResource Upstream>
class TrackingAdaptor {
 public:
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  explicit TrackingAdaptor(Args&&... args) : upstream_(std::forward<Args>(args)...) {}

  Block* allocate(std::size_t bytes, StreamId stream, Site site) { return upstream_.allocate(bytes, stream, site); }
  void deallocate(Block& block) noexcept { upstream_.deallocate(block); }
  std::uint64_t trim(Site site) { return upstream_.trim(site); }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

  // Largest first.
  [[nodiscard]] std::vector<MemoryOwner> owners() const {
    std::map<std::pair<std::string_view, std::uint32_t>, MemoryOwner> by_site;
    upstream_.for_each_block([&](const Block& block) {
      if (block.state != BlockState::live) return;
      const Site site = block.site();
      MemoryOwner& owner = by_site.try_emplace({site.file(), site.line()}, MemoryOwner{site}).first->second;
      owner.bytes += block.capacity();
      ++owner.buffers;
    });
    std::vector<MemoryOwner> out;
    for (const auto& entry : by_site) out.push_back(entry.second);
    std::stable_sort(out.begin(), out.end(), [](const MemoryOwner& a, const MemoryOwner& b) { return a.bytes > b.bytes; });
    return out;
  }
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    upstream_.for_each_block(visit);
  }

 private:
  Upstream upstream_;
};

}  // namespace tutti
