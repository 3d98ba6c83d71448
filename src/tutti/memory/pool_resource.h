// The stream-ordered caching pool: serves requests from memory it has mapped before, in the order that costs least.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tutti/memory/block_slab.h"
#include "tutti/memory/free_blocks.h"
#include "tutti/memory/limit_adaptor.h"
#include "tutti/memory/memory_resource.h"
#include "tutti/memory/pending_blocks.h"

namespace tutti {

template <MappedMemory Upstream>
class PoolResource {
 public:
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  PoolResource(Device& device, BlockOwner& owner, Args&&... args)
      : device_(device), owner_(owner), upstream_(std::forward<Args>(args)...) {}
  PoolResource(const PoolResource&) = delete;
  PoolResource& operator=(const PoolResource&) = delete;

  Block* allocate(std::size_t bytes, StreamId stream, Site site) {
    if (bytes > size_class::most_bytes) [[unlikely]]
      return nullptr;
    const std::uint64_t units = size_class::units_for(bytes);
    const unsigned size_class = size_class::of(units);
    Block* block = nullptr;
    if (!pending_.empty()) {
      block = pending_.take(stream, units, size_class);
      if (block == nullptr) reclaim(2);  // a little at each request, so that no request pays for all
    }
    if (block == nullptr && units <= size_class::quick_units) block = take_quick(size_class);
    if (block == nullptr) block = allocate_slowly(units, stream, site);
    if (block == nullptr) return nullptr;
    block->state = BlockState::live;
    block->begin_life(bytes, site);
    return block;
  }

  void deallocate(Block& block) noexcept {
    // In doubt it counts as in use: its own stream may have it at once, and the others after the next look.
    if (block.is_known_settled()) {
      put_clean(block);
    } else {
      pending_.add(block);
    }
  }

  // Gives every granule nobody uses back to the layer below.
  std::uint64_t trim(Site site);
  // Makes free and whole all memory whose uses are done.
  void reclaim_all() noexcept {
    pending_.reclaim_all([this](Block& block) noexcept { put_clean(block); });
    flush_quick();
  }
  // Maps memory ahead of its use; false when refused.
  bool reserve(std::size_t bytes, Site site) {
    slab_.ensure(2);
    return grow(size_class::units_for(bytes), site);
  }
  // Would a contiguous block of that size fit into what could be mapped after a trim?
  [[nodiscard]] bool fits_after_trim(std::size_t bytes) const {
    if (bytes > size_class::most_bytes) return false;
    std::uint64_t trimmable = 0;
    slab_.for_each([&](const Block& block) {
      if (block.is_clean()) trimmable += whole_granules(block).bytes;
    });
    return trimmable != 0 && size_class::units_for(bytes) * size_class::unit <= upstream_.room() + trimmable;
  }
  // The unfinished uses of the `most` blocks that have been pending longest.
  void pending_uses(std::size_t most, std::vector<TimelinePoint>& out) const {
    for (const Block* block = pending_.oldest(); block != nullptr && most > 0; block = block->newer, --most) {
      Points points;
      block->unfinished_uses(points);
      out.insert(out.end(), points.begin(), points.end());
    }
  }
  // The longest stretch of mapped memory without an owner.
  [[nodiscard]] std::uint64_t largest_hole() const noexcept {
    std::uint64_t largest = 0;
    slab_.for_each([&](const Block& block) {
      if (block.state == BlockState::live || (block.below != nullptr && block.below->state != BlockState::live)) return;
      std::uint64_t length = 0;
      for (const Block* b = &block; b != nullptr && b->state != BlockState::live; b = b->above) length += b->capacity();
      largest = std::max(largest, length);
    });
    return largest;
  }
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    slab_.for_each(visit);
  }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

 private:
  Block* take_quick(unsigned size_class) noexcept {
    Block* block = quick_[size_class];
    if (block != nullptr) quick_[size_class] = block->next;
    return block;
  }
  void reclaim(std::size_t most) noexcept {
    pending_.reclaim(most, [this](Block& block) noexcept { put_clean(block); });
  }
  void put_clean(Block& block) noexcept {
    block.forget_uses();
    block.failure().clear();
    const unsigned size_class = block.size_class;
    // Only blocks of exactly their class's size serve every request of it.
    if (block.units <= size_class::quick_units && size_class::round_up(block.units) == block.units) {
      block.state = BlockState::quick;
      block.next = quick_[size_class];
      quick_[size_class] = &block;
    } else {
      put_free(block);
    }
  }
  void flush_quick() noexcept {
    for (Block*& head : quick_) {
      for (Block* block = std::exchange(head, nullptr); block != nullptr;) put_free(*std::exchange(block, block->next));
    }
  }

  Block* allocate_slowly(std::uint64_t units, StreamId stream, Site site);
  Block* take_free(std::uint64_t units) noexcept {
    Block* block = free_.take(units);
    if (block == nullptr) return nullptr;
    if (block->units > units) free_.insert(split(*block, units));
    return block;
  }
  bool grow(std::uint64_t units, Site site);
  void put_free(Block& block) noexcept;
  Block& split(Block& block, std::uint64_t units);
  Block& absorb_above(Block& block) noexcept;
  void add(Extent extent) noexcept;
  [[nodiscard]] Extent whole_granules(const Block& block) const noexcept;
  void cut_out(Block& block, Extent hole);

  Device& device_;
  BlockOwner& owner_;
  Upstream upstream_;
  PendingBlocks pending_;
  std::array<Block*, size_class::quick_count> quick_{};
  FreeBlocks free_;
  BlockSlab slab_;
};
static_assert(MemoryResource<PoolResource<LimitAdaptor<GrowthResource>>>);

}  // namespace tutti

#include "tutti/memory/pool_resource_inl.h"  // IWYU pragma: export
