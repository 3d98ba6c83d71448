// Gives lent host memory back from the CPU's stream, once the work that still uses it is done.
#include <vector>

#include "tutti/exec/order.h"
#include "tutti/hal/access_observer.h"
#include "tutti/hal/door.h"
#include "tutti/memory/host_memory.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace {

void finish(void* payload) noexcept { (*static_cast<ExternalBuffer**>(payload))->finish(); }

constexpr WorkKind release_kind{
    [](const void* source, void* payload, bool) {
      *static_cast<ExternalBuffer**>(payload) = *static_cast<ExternalBuffer* const*>(source);
    },
    [](void* payload, RunContext&) noexcept -> FailureRef {
      finish(payload);
      return nullptr;
    },
    [](void* payload, const FailureRef&) noexcept { finish(payload); },
};

void release_later(ExternalBuffer* buffer) noexcept {
  Runtime* instance = runtime_if_initialised();
  if (instance == nullptr) {  // no stream of ours to wait on: the memory was used by streams made by hand
    Points uses;
    buffer->unfinished_uses(uses);
    await_all(uses.view(), {.reason = SyncReason::memory_pressure, .site = buffer->site()});
    buffer->finish();
    return;
  }
  DeviceStream& stream = instance->cpu().default_stream();
  for (;;) {
    std::unique_lock lock(stream.order());
    const TimelinePoint full = stream.full_until(0);
    if (full.stream == StreamId::none) {
      Points after;
      buffer->unfinished_uses(after);
      derive_edges(stream, after, buffer->site());
      if (AccessObserver* observer = access_observer()) [[unlikely]] {
        observer->before_submit({.op = "give back host memory",
                                 .site = buffer->site(),
                                 .device = &stream.device(),
                                 .point = {stream.id(), stream.last().value + 1},
                                 .after = after.view()});
      }
      stream.submit({.kind = &release_kind,
                     .name = "give back host memory",
                     .site = buffer->site(),
                     .source = static_cast<const void*>(&buffer)},
                    after.view());
      break;
    }
    lock.unlock();
    await(full, {.reason = SyncReason::back_pressure, .site = buffer->site()});
  }
  stream.kick();
}

const bool installed = [] {
  set_deferred_release(&release_later);
  return true;
}();

}  // namespace

}  // namespace tutti
