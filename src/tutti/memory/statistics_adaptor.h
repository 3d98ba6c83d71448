// Counts what goes through it: bytes in use, their peak, bytes asked for, allocations.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tutti/memory/memory_resource.h"

namespace tutti {

struct MemoryStatistics {
  std::uint64_t in_use = 0;
  std::uint64_t peak = 0;
  std::uint64_t requested = 0;
  std::uint64_t allocations = 0;
  std::uint64_t live = 0;
};

template <MemoryResource Upstream>
class StatisticsAdaptor {
 public:
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  explicit StatisticsAdaptor(Args&&... args) : upstream_(std::forward<Args>(args)...) {}

  Block* allocate(std::size_t bytes, StreamId stream, Site site) {
    Block* block = upstream_.allocate(bytes, stream, site);
    if (block == nullptr) return nullptr;
    now_.in_use += block->capacity();
    now_.peak = std::max(now_.peak, now_.in_use);
    now_.requested += bytes;
    ++now_.allocations;
    ++now_.live;
    return block;
  }
  void deallocate(Block& block) noexcept {
    now_.in_use -= block.capacity();
    now_.requested -= block.bytes();
    --now_.live;
    upstream_.deallocate(block);
  }
  std::uint64_t trim(Site site) { return upstream_.trim(site); }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    upstream_.for_each_block(visit);
  }

  [[nodiscard]] const MemoryStatistics& statistics() const noexcept { return now_; }
  void reset_peak() noexcept { now_.peak = now_.in_use; }

 private:
  Upstream upstream_;
  MemoryStatistics now_;
};

}  // namespace tutti
