#include "tutti/memory/host_memory.h"

#include <exception>
#include <utility>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/access_observer.h"
#include "tutti/hal/door.h"
#include "tutti/hal/lifecycle.h"

namespace tutti {

namespace {
std::atomic<DeferredRelease> deferred_release{nullptr};
}

void set_deferred_release(DeferredRelease release) noexcept { deferred_release.store(release, std::memory_order_release); }

ExternalBuffer::ExternalBuffer(std::byte* address, std::size_t bytes, Device& device, GiveBack give_back, Site site)
    : give_back_(std::move(give_back)) {
  place_at(address, device);
  set_lent();
  begin_life(bytes, site);
}

Ref<Buffer> ExternalBuffer::wrap(std::byte* address, std::size_t bytes, Device& device, GiveBack give_back, Site site) {
  return Ref<Buffer>(new ExternalBuffer(address, bytes, device, std::move(give_back), site));
}

Ref<Buffer> ExternalBuffer::wrap(std::byte* address, std::size_t bytes, Device& device, void (*give_back)(void*), void* context,
                                 Site site) {
  GiveBack call;
  if (give_back != nullptr) call = [give_back, context] { give_back(context); };
  return wrap(address, bytes, device, std::move(call), site);
}

void ExternalBuffer::release() noexcept {
  if (is_settled()) return finish();
  if (is_forked()) return;  // the work that uses it never ends here
  if (const DeferredRelease later = deferred_release.load(std::memory_order_acquire)) return later(this);
  try {
    Points uses;
    unfinished_uses(uses);
    for (const TimelinePoint& point : uses) await(point, {.reason = SyncReason::memory_pressure, .site = site()});
    finish();
  } catch (const std::exception& e) {
    log(LogLevel::error, text("memory lent at ", site().to_string(), " is never given back: ", e.what()));
  }
}

void ExternalBuffer::finish() noexcept {
  if (AccessObserver* observer = access_observer()) [[unlikely]]
    observer->handed_out(address(), bytes(), true);  // to whom it belongs, all its uses done
  try {
    if (give_back_) give_back_();
  } catch (const std::exception& e) {
    log(LogLevel::error, text("giving back memory lent at ", site().to_string(), " threw: ", e.what()));
  } catch (...) {
    log(LogLevel::error, text("giving back memory lent at ", site().to_string(), " threw an exception of an unknown type"));
  }
  delete this;
}

}  // namespace tutti
