// The seldom used half of the pool: splitting, merging, growing, trimming.
#pragma once

#include "tutti/memory/pool_resource.h"

namespace tutti {

template <MappedMemory Upstream>
Block* PoolResource<Upstream>::allocate_slowly(std::uint64_t units, StreamId stream, Site site) {
  slab_.ensure(2);  // from here on nothing below runs out of host memory half way
  if (Block* block = take_free(units)) return block;
  reclaim(32);
  flush_quick();
  if (Block* block = take_free(units)) return block;
  if (grow(units, site)) return take_free(units);
  reclaim_all();
  if (Block* block = take_free(units)) return block;
  if (stream == StreamId::none) return nullptr;
  // Its uses stay on record, so the next writer comes after them on the device; the host need not wait.
  Block* block = pending_.take_any(stream, units);
  if (block != nullptr && block->units > units) pending_.add(split(*block, units));
  return block;
}

template <MappedMemory Upstream>
bool PoolResource<Upstream>::grow(std::uint64_t units, Site site) {
  if (upstream_.room() < upstream_.granule()) return false;
  const std::size_t need = units * size_class::unit;
  // A free end of what is mapped needs only the rest.
  const Block* tail = nullptr;
  slab_.for_each([&](const Block& block) {
    const bool is_end = block.state == BlockState::free && block.above == nullptr;
    if (is_end && (tail == nullptr || tail->units < block.units)) tail = &block;
  });
  Extent extent;
  if (tail != nullptr) extent = upstream_.map(need - tail->capacity(), ~std::size_t{0}, tail->end(), site);
  if (!extent) extent = upstream_.map(need, ~std::size_t{0}, nullptr, site);
  if (extent) add(extent);
  return static_cast<bool>(extent);
}

template <MappedMemory Upstream>
void PoolResource<Upstream>::add(Extent extent) noexcept {
  Block& block = slab_.take();
  block.owner = &owner_;
  block.place_at(extent.address, device_);
  block.set_units(extent.bytes / size_class::unit);
  slab_.for_each([&](Block& other) {
    if (other.end() == block.address()) block.below = &other;
    if (other.address() == block.end()) block.above = &other;
  });
  if (block.below != nullptr) block.below->above = &block;
  if (block.above != nullptr) block.above->below = &block;
  put_free(block);
}

template <MappedMemory Upstream>
void PoolResource<Upstream>::put_free(Block& block) noexcept {
  Block* whole = &block;
  if (whole->above != nullptr && whole->above->state == BlockState::free) {
    free_.remove(*whole->above);
    absorb_above(*whole);
  }
  if (whole->below != nullptr && whole->below->state == BlockState::free) {
    whole = whole->below;
    free_.remove(*whole);
    absorb_above(*whole);
  }
  free_.insert(*whole);
}

// Cuts the block after `units` and returns the rest, in no list yet.
template <MappedMemory Upstream>
Block& PoolResource<Upstream>::split(Block& block, std::uint64_t units) {
  Block& rest = slab_.take();
  rest.owner = &owner_;
  rest.place_at(block.address() + units * size_class::unit, device_);
  rest.inherit_uses(block);
  rest.set_units(block.units - units);
  rest.below = &block;
  rest.above = block.above;
  if (rest.above != nullptr) rest.above->below = &rest;
  block.above = &rest;
  block.set_units(units);
  return rest;
}

template <MappedMemory Upstream>
Block& PoolResource<Upstream>::absorb_above(Block& block) noexcept {
  Block& gone = *block.above;
  block.above = gone.above;
  if (block.above != nullptr) block.above->below = &block;
  block.set_units(block.units + gone.units);
  slab_.give(gone);
  return block;
}

template <MappedMemory Upstream>
Extent PoolResource<Upstream>::whole_granules(const Block& block) const noexcept {
  const std::size_t granule = upstream_.granule();
  const auto begin = static_cast<std::size_t>(block.address() - upstream_.base());
  const std::size_t first = (begin + granule - 1) / granule * granule;
  const std::size_t last = (begin + block.capacity()) / granule * granule;
  if (last <= first) return {};
  return upstream_.releasable({upstream_.base() + first, last - first});
}

template <MappedMemory Upstream>
std::uint64_t PoolResource<Upstream>::trim(Site site) {
  reclaim_all();
  std::uint64_t given_back = 0;
  slab_.for_each([&](Block& block) {
    const Extent hole = block.state == BlockState::free ? whole_granules(block) : Extent{};
    if (!hole) return;
    slab_.ensure(1);
    upstream_.unmap(hole, site);
    cut_out(block, hole);
    given_back += hole.bytes;
  });
  return given_back;
}

// Takes the hole, which is not mapped any more, out of a free block; what is left of it on either side stays free.
template <MappedMemory Upstream>
void PoolResource<Upstream>::cut_out(Block& block, Extent hole) {
  free_.remove(block);
  const std::uint64_t left = static_cast<std::uint64_t>(hole.address - block.address()) / size_class::unit;
  const std::uint64_t right = static_cast<std::uint64_t>(block.end() - (hole.address + hole.bytes)) / size_class::unit;
  Block* above = block.above;
  if (above != nullptr) above->below = nullptr;
  block.above = nullptr;
  if (right != 0) {
    Block& rest = slab_.take();
    rest.owner = &owner_;
    rest.place_at(hole.address + hole.bytes, device_);
    rest.set_units(right);
    rest.above = above;
    if (above != nullptr) above->below = &rest;
    free_.insert(rest);
  }
  if (left != 0) {
    block.set_units(left);
    free_.insert(block);
  } else {
    if (block.below != nullptr) block.below->above = nullptr;
    slab_.give(block);
  }
}

}  // namespace tutti
