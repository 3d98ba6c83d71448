// The memory of one logical device as the rest of the runtime sees it: allocate, limits, figures, trimming.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/base/intrusive.h"
#include "tutti/base/site.h"
#include "tutti/memory/buffer.h"

namespace tutti {

struct MemoryInfo {
  std::uint64_t in_use = 0;     // bytes of live buffers, as handed out (rounded)
  std::uint64_t peak = 0;       // highest in_use since the last reset
  std::uint64_t requested = 0;  // bytes of live buffers, as asked for
  std::uint64_t reserved = 0;   // bytes mapped from the device
  std::uint64_t limit = 0;
  std::uint64_t largest_free_block = 0;
  double fragmentation = 0;       // share of the free mapped memory that is not in the largest free block
  std::uint64_t allocations = 0;  // served so far
  std::uint64_t context = 0;      // what the driver itself takes of the device for this process, beside all that
};

struct MemoryOwner {
  Site site;
  std::uint64_t bytes = 0;
  std::uint64_t buffers = 0;
};

struct DeviceMemoryOptions {
  std::uint64_t limit = 0;  // 0: the capacity of the space
  bool growth = true;       // false: map nearly all of it up front
};

class MemorySpace;

class DeviceMemory {
 public:
  DeviceMemory(Device& device, const DeviceMemoryOptions& options);
  // Memory that the device uses and another space holds: pinned memory, for the CPU.
  DeviceMemory(Device& device, MemorySpace& space, const DeviceMemoryOptions& options);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // For work on `stream`; StreamId::none for work the calling thread does itself, now, so that only memory nobody
  // uses any more will do. The buffer's earlier uses are on record in it (Buffer::before_write). A request of 0 bytes
  // gives a valid buffer. Throws OutOfMemory. May wait for work in flight: hold no stream's order lock.
  Ref<Buffer> allocate(std::size_t bytes, StreamId stream, Site site);

  [[nodiscard]] Device& device() const noexcept;
  [[nodiscard]] MemoryInfo info() const;
  void reset_peak();
  // 0: the capacity of the space. What is in use is held to it; what is mapped, to the whole granules that takes. Throws
  // InvalidArgument with the figures when more is in use, or when what is in use lies so that less cannot be mapped.
  void set_limit(std::uint64_t bytes, Site site);
  // Gives memory nobody uses back to the device; returns the bytes given back.
  std::uint64_t trim(Site site);
  // Live bytes by call site, largest first.
  [[nodiscard]] std::vector<MemoryOwner> owners() const;

  // Called when a request cannot be served, before giving up: lets caches above this one drop what they can spare.
  // Returns true when something was dropped.
  using Relieve = bool (*)(Device& device) noexcept;
  void set_relief(Relieve relieve) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti
