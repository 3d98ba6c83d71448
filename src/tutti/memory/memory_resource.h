// What the layers of a device's memory offer each other. They are composed at compile time; none takes a lock.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tutti/base/ids.h"
#include "tutti/base/site.h"
#include "tutti/memory/block.h"

namespace tutti {

// A piece of mapped memory, in whole granules.
struct Extent {
  std::byte* address = nullptr;
  std::size_t bytes = 0;

  explicit operator bool() const noexcept { return bytes != 0; }
};

// The lower layers: memory as the device maps it.
template <class M>
concept MappedMemory =
    requires(M& memory, const M& constant, std::size_t least, std::size_t most, std::byte* at, Extent extent, Site site) {
      // Between `least` and `most` bytes, at `at` or (null) anywhere; empty when refused.
      { memory.map(least, most, at, site) } -> std::same_as<Extent>;
      { memory.unmap(extent, site) } -> std::same_as<void>;
      { constant.releasable(extent) } -> std::same_as<Extent>;  // the part of it that unmap takes
      { constant.mapped() } -> std::same_as<std::uint64_t>;
      { constant.room() } -> std::same_as<std::uint64_t>;   // bytes that may yet be mapped
      { constant.refusal() } -> std::same_as<std::string>;  // what the device answered to the last request, if it refused
      { constant.base() } -> std::same_as<std::byte*>;
      { constant.granule() } -> std::same_as<std::size_t>;
    };

// The upper layers: memory as the runtime uses it.
template <class R>
concept MemoryResource = requires(R& resource, std::size_t bytes, StreamId stream, Block& block, Site site) {
  { resource.allocate(bytes, stream, site) } -> std::same_as<Block*>;  // null: there is no room
  { resource.deallocate(block) } noexcept -> std::same_as<void>;
  { resource.trim(site) } -> std::same_as<std::uint64_t>;
  resource.for_each_block([](const Block&) {});  // everything mapped, in any state
  resource.upstream();
};

}  // namespace tutti
