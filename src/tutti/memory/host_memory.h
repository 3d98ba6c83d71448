// Memory the caller owns, lent to the runtime: used in place, and given back exactly once, after its last use.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "tutti/base/intrusive.h"
#include "tutti/base/site.h"
#include "tutti/memory/buffer.h"

namespace tutti {

class ExternalBuffer final : public Buffer {
 public:
  // Runs on any thread, once. An exception that leaves it is logged.
  using GiveBack = std::function<void()>;

  static Ref<Buffer> wrap(std::byte* address, std::size_t bytes, Device& device, GiveBack give_back, Site site);
  static Ref<Buffer> wrap(std::byte* address, std::size_t bytes, Device& device, void (*give_back)(void*), void* context,
                          Site site);

  // Gives the memory back at once where nothing uses it any more, otherwise hands this to the deferred release.
  void release() noexcept override;

  // For the deferred release: what must be done first, then finish(), which ends this object.
  using Buffer::unfinished_uses;
  void finish() noexcept;

 private:
  ExternalBuffer(std::byte* address, std::size_t bytes, Device& device, GiveBack give_back, Site site);
  ~ExternalBuffer() override = default;

  GiveBack give_back_;
};

// Takes over a buffer without owners whose uses are not done: it calls finish() when they are. While none is installed
// the releasing thread waits for them, through the door.
using DeferredRelease = void (*)(ExternalBuffer*) noexcept;
void set_deferred_release(DeferredRelease release) noexcept;

}  // namespace tutti
