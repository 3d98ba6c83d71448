#include "tutti/hal/deadline.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/human_time.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"

namespace tutti {

namespace {

constexpr std::size_t most_pending_listed = 8;

std::string age(Nanoseconds since) {
  const Nanoseconds elapsed = coarse_now() - since;
  return elapsed >= coarse_tick() ? human_time(elapsed) : text("less than ", human_time(coarse_tick()));
}

}  // namespace

std::string pending_work(std::span<const TimelinePoint> points) {
  std::string out;
  for (const TimelinePoint& point : points) {
    const DeviceStream* stream = point.stream == StreamId::none ? nullptr : timeline(point.stream).stream();
    if (stream == nullptr) continue;
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

namespace {

void sync_points(std::span<const TimelinePoint> points, const SyncRequest& request, Timeout timeout) {
  if (await_all(points, request, deadline_after(timeout)) == WaitResult::done) return;
  throw DeadlineExceeded(
      text(to_string(request.reason), " did not end within ", human_time(std::max<Nanoseconds>(0, timeout->count())),
           "; it all goes on running. Still pending:", pending_work(points)),
      request.site);
}

}  // namespace

void sync_point(TimelinePoint point, const SyncRequest& request, Timeout timeout) {
  sync_points(std::span(&point, 1), request, timeout);
}

void sync_streams(std::span<DeviceStream* const> streams, SyncReason reason, const SyncOptions& options, Site site) {
  std::vector<TimelinePoint> points;
  points.reserve(streams.size());
  for (const DeviceStream* stream : streams) points.push_back(stream->last());
  sync_points(points, {.reason = reason, .site = site, .intent = options.intent}, options.timeout);
}

}  // namespace tutti
