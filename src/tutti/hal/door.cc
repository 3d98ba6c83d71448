#include "tutti/hal/door.h"

#include <algorithm>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/hal/access_observer.h"
#include "tutti/hal/device_stream.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/hal/ledger_switch.h"
#include "tutti/hal/site_account.h"
#include "tutti/hal/sync_mode.h"
#include "tutti/hal/trace_hook.h"
#include "tutti/journal/journal.h"

std::atomic<TuttiTracePassage*> tutti_trace_passage{nullptr};

namespace tutti {

namespace {

using detail::SiteAccount;

void note_passage(SyncReason reason, Site site, const char* op, TimelinePoint waited_for, Nanoseconds begin, Nanoseconds end) {
  journal::record({.kind = is_demand(reason) ? journal::EventKind::sync : journal::EventKind::throttle,
                   .name = to_string(reason),
                   .detail = op,
                   .site = site,
                   .begin = begin,
                   .end = end,
                   .value = waited_for.value,
                   .target = waited_for.stream});
  if (auto* const told = tutti_trace_passage.load(std::memory_order_relaxed); told != nullptr && end > begin) [[unlikely]]
    told(to_string(reason), site.file(), site.line(), site.function(), static_cast<std::uint64_t>(begin),
         static_cast<std::uint64_t>(end));
}

void note_sync(TimelinePoint point, const SiteAccount& account) noexcept {
  if constexpr (!detail::keeps_ledger) return;
  if (point.stream != StreamId::none && is_demand(account.reason)) timeline(point.stream).set_last_sync({point.value, &account});
}

// Throws where a mode or a budget forbids it.
void admit(const SyncRequest& request, SiteAccount& account) {
  if (!is_demand(request.reason)) return;
  try {
    detail::judge(request);
  } catch (...) {
    account.refused.fetch_add(1, std::memory_order_relaxed);
    if (request.sent_for) account.sent_for.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
  detail::count(request);
  if (const char* why = detail::allowance()) account.add_allowed(why);
}

void tell_observer(std::span<const TimelinePoint> points) noexcept {
  if (AccessObserver* observer = access_observer()) [[unlikely]]
    observer->host_knows(points);
}

// `last`: the one that was waited for last.
bool block_until_done(std::span<const TimelinePoint> points, Deadline deadline, TimelinePoint& last) {
  bool all_done = true;
  for (const TimelinePoint& point : points) {
    if (is_done(point)) continue;
    DeviceStream* producer = timeline(point.stream).stream();
    if (producer == nullptr) continue;  // a stream goes only when all its work is done
    last = point;
    all_done = producer->block_until(point.value, deadline) && all_done;
  }
  return all_done;
}

thread_local int depth = 0;

void enter(SiteAccount& account) noexcept {
  ++depth;
  account.waiting.fetch_add(1, std::memory_order_relaxed);
}
void leave(SiteAccount& account) noexcept {
  --depth;
  account.waiting.fetch_sub(1, std::memory_order_relaxed);
}

struct InsideDoor {
  SiteAccount& account;
  explicit InsideDoor(SiteAccount& whose) noexcept : account(whose) { enter(account); }
  ~InsideDoor() { leave(account); }
  InsideDoor(const InsideDoor&) = delete;
  InsideDoor& operator=(const InsideDoor&) = delete;
};

}  // namespace

int detail::door_depth() noexcept { return depth; }

WaitResult await(TimelinePoint point, const SyncRequest& request, Deadline deadline) {
  return await_all(std::span(&point, 1), request, deadline);
}

namespace {

// One passage. `block(last)` blocks, says what it waited for last, and returns whether all is done.
template <class Block>
WaitResult pass(std::span<const TimelinePoint> points, const SyncRequest& request, const Block& block) {
  SiteAccount& account = detail::account_of(request.site, request.reason);
  admit(request, account);
  account.add_passage(request, points);
  const auto pending = std::find_if_not(points.begin(), points.end(), [](const TimelinePoint& p) { return is_done(p); });
  if (pending == points.end()) {
    for (const TimelinePoint& point : points) note_sync(point, account);
    tell_observer(points);
    if (journal::is_recording()) [[unlikely]]
      note_passage(request.reason, request.site, request.op.row, {}, now(), now());
    return WaitResult::done;
  }
  if (is_inside_kernel()) {
    throw InvalidState(
        "a kernel asked the runtime to wait for work (by reading or syncing); it would wait for itself: read the value before "
        "the op is called and pass it in",
        request.site);
  }
  const InsideDoor inside(account);
  const Nanoseconds begin = now();
  TimelinePoint last = *pending;
  const bool all_done = block(last);
  const Nanoseconds end = now();
  account.add_wait(end - begin, !all_done);
  detail::count_wait(request.reason, end - begin);
  if (all_done) {
    for (const TimelinePoint& point : points) note_sync(point, account);
    tell_observer(points);
    if (is_demand(request.reason)) {
      detail::begin_idle(account, points);
      detail::begin_idle(account, std::span(&request.made, 1));
    }
  }
  note_passage(request.reason, request.site, request.op.row, last, begin, end);
  return all_done ? WaitResult::done : WaitResult::timed_out;
}

}  // namespace

WaitResult await_all(std::span<const TimelinePoint> points, const SyncRequest& request, Deadline deadline) {
  return pass(points, request, [&](TimelinePoint& last) { return block_until_done(points, deadline, last); });
}

std::chrono::nanoseconds stall_timeout() { return environment_duration("TUTTI_STALL_TIMEOUT").value_or(std::chrono::minutes(5)); }

WaitResult await_unless_stalled(std::span<const TimelinePoint> points, const SyncRequest& request) {
  return pass(points, request, [&](TimelinePoint& last) {
    for (;;) {
      const std::uint64_t before = completed_by_all_streams();
      if (block_until_done(points, deadline_after(stall_timeout()), last)) return true;
      if (completed_by_all_streams() == before) return false;
    }
  });
}

BlockingRegion::BlockingRegion(SyncReason reason, Site site) : account_(&detail::account_of(site, reason)) {
  const SyncRequest request{.reason = reason, .site = site};
  admit(request, *account_);
  account_->add_passage(request, {});
  enter(*account_);
  begin_ = now();
}

BlockingRegion::~BlockingRegion() {
  leave(*account_);
  const Nanoseconds end = now();
  account_->add_wait(end - begin_, has_timed_out_);
  detail::count_wait(account_->reason, end - begin_);
  note_passage(account_->reason, account_->site, "", {}, begin_, end);
}

WaitResult BlockingRegion::await(std::span<const TimelinePoint> points, Deadline deadline) {
  TimelinePoint last;
  if (!block_until_done(points, deadline, last)) {
    has_timed_out_ = true;
    return WaitResult::timed_out;
  }
  has_timed_out_ = false;
  for (const TimelinePoint& point : points) note_sync(point, *account_);
  tell_observer(points);
  return WaitResult::done;
}

}  // namespace tutti
