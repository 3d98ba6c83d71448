#include "tutti/hal/deadline.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"

namespace tutti {

namespace {

constexpr std::size_t most_pending_listed = 8;

std::string age(Nanoseconds since) {
  const Nanoseconds elapsed = std::max<Nanoseconds>(0, coarse_now() - since);
  return elapsed < 1'000'000'000 ? text(elapsed / 1'000'000, " ms") : text(elapsed / 1'000'000'000, " s");
}

std::string pending_list(std::span<DeviceStream* const> streams) {
  std::string out;
  for (DeviceStream* stream : streams) {
    const std::vector<PendingWork> pending = stream->pending();
    if (pending.empty()) continue;
    out += text("\n  stream ", index_of(stream->id()), " on ", stream->device().name(), ": ", pending.size(), " pending");
    for (std::size_t i = 0; i < std::min(pending.size(), most_pending_listed); ++i) {
      const PendingWork& work = pending[i];
      out += text("\n    ", work.op, work.running ? " (running), " : ", ", "submitted ", age(work.since), " ago at ",
                  work.site.to_string());
    }
    if (pending.size() > most_pending_listed) out += text("\n    ... and ", pending.size() - most_pending_listed, " more");
  }
  return out.empty() ? "\n  nothing any more: the work ended just after the deadline" : out;
}

[[noreturn]] void raise_deadline(SyncReason reason, const SyncOptions& options, std::span<DeviceStream* const> streams,
                                 Site site) {
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(*options.timeout).count();
  throw DeadlineExceeded(text(to_string(reason), " did not end within ", waited,
                              " ms; it all goes on running. Still pending:", pending_list(streams)),
                         site);
}

}  // namespace

void sync_point(TimelinePoint point, SyncReason reason, const SyncOptions& options, Site site) {
  if (await(point, {.reason = reason, .site = site, .intent = options.intent}, deadline_after(options.timeout)) ==
      WaitResult::done)
    return;
  DeviceStream* stream = timeline(point.stream).stream();
  raise_deadline(reason, options, std::span(&stream, stream != nullptr ? 1 : 0), site);
}

void sync_streams(std::span<DeviceStream* const> streams, SyncReason reason, const SyncOptions& options, Site site) {
  std::vector<TimelinePoint> points;
  points.reserve(streams.size());
  for (const DeviceStream* stream : streams) points.push_back(stream->last());
  if (await_all(points, {.reason = reason, .site = site, .intent = options.intent}, deadline_after(options.timeout)) ==
      WaitResult::timed_out)
    raise_deadline(reason, options, streams, site);
}

}  // namespace tutti
