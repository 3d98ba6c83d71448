#include "tutti/hal/door.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "tutti/base/error.h"
#include "tutti/hal/device_stream.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/journal/journal.h"

namespace tutti {

const char* to_string(SyncReason reason) noexcept {
  switch (reason) {
    case SyncReason::value_read: return "value read";
    case SyncReason::data_dependent_shape: return "data-dependent shape";
    case SyncReason::tensor_sync: return "tensor sync";
    case SyncReason::stream_sync: return "stream sync";
    case SyncReason::event_sync: return "event sync";
    case SyncReason::device_sync: return "device sync";
    case SyncReason::all_devices_sync: return "all devices sync";
    case SyncReason::barrier: return "barrier";
    case SyncReason::collective: return "collective";
    case SyncReason::pageable_staging: return "pageable staging";
    case SyncReason::memory_pressure: return "memory pressure";
    case SyncReason::memory_mapping: return "memory mapping";
    case SyncReason::back_pressure: return "back-pressure";
    case SyncReason::module_load: return "module load";
    case SyncReason::capture_start: return "capture start";
    case SyncReason::shutdown: return "shutdown";
  }
  return "unknown";
}

namespace detail {

// One per site and reason, made on first passage and kept for ever: sites are places in code, so there are few.
struct SiteAccount {
  Site site;
  SyncReason reason;
  SiteAccount* next = nullptr;
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> blocked{0};
  std::atomic<std::uint64_t> timed_out{0};
  std::atomic<Nanoseconds> blocked_time{0};
  std::atomic<Nanoseconds> longest{0};

  SiteAccount(Site where, SyncReason why) : site(where), reason(why) {}

  void add_wait(Nanoseconds waited, bool late) noexcept {
    blocked.fetch_add(1, std::memory_order_relaxed);
    if (late) timed_out.fetch_add(1, std::memory_order_relaxed);
    blocked_time.fetch_add(waited, std::memory_order_relaxed);
    Nanoseconds before = longest.load(std::memory_order_relaxed);
    while (before < waited && !longest.compare_exchange_weak(before, waited, std::memory_order_relaxed)) {}
  }
};

}  // namespace detail

namespace {

using detail::SiteAccount;

constexpr std::size_t bucket_count = 1024;

// Buckets only ever gain entries at the front, so they are read without a lock.
std::array<std::atomic<SiteAccount*>, bucket_count> buckets{};
std::mutex& growth_mutex() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

SiteAccount* find_in(SiteAccount* entry, Site site, SyncReason reason) noexcept {
  for (; entry != nullptr; entry = entry->next) {
    if (entry->reason == reason && entry->site == site) return entry;
  }
  return nullptr;
}

SiteAccount& account(Site site, SyncReason reason) {
  auto& bucket = buckets[(site.hash() + static_cast<std::size_t>(reason)) % bucket_count];
  if (SiteAccount* found = find_in(bucket.load(std::memory_order_acquire), site, reason)) return *found;
  const std::lock_guard lock(growth_mutex());
  if (SiteAccount* found = find_in(bucket.load(std::memory_order_acquire), site, reason)) return *found;
  auto* made = new SiteAccount(site, reason);
  made->next = bucket.load(std::memory_order_relaxed);
  bucket.store(made, std::memory_order_release);
  return *made;
}

void note_passage(SyncReason reason, Site site, StreamId stream, Nanoseconds begin, Nanoseconds end) {
  journal::record({.kind = is_demand(reason) ? journal::EventKind::sync : journal::EventKind::throttle,
                   .name = to_string(reason),
                   .detail = is_demand(reason) ? "demand" : "flow",
                   .site = site,
                   .begin = begin,
                   .end = end,
                   .value = index_of(stream)});
}

template <class Visit>
void for_each_account(Visit&& visit) {
  for (const auto& bucket : buckets) {
    for (SiteAccount* entry = bucket.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) visit(*entry);
  }
}

thread_local int depth = 0;

struct InsideDoor {
  InsideDoor() noexcept { ++depth; }
  ~InsideDoor() { --depth; }
  InsideDoor(const InsideDoor&) = delete;
  InsideDoor& operator=(const InsideDoor&) = delete;
};

}  // namespace

int detail::door_depth() noexcept { return depth; }

WaitResult await(TimelinePoint point, SyncReason reason, Deadline deadline, Site site) {
  return await_all(std::span(&point, 1), reason, deadline, site);
}

WaitResult await_all(std::span<const TimelinePoint> points, SyncReason reason, Deadline deadline, Site site) {
  SiteAccount& entry = account(site, reason);
  entry.calls.fetch_add(1, std::memory_order_relaxed);
  const auto pending = std::find_if_not(points.begin(), points.end(), [](const TimelinePoint& p) { return is_done(p); });
  if (pending == points.end()) {
    if (journal::is_recording()) [[unlikely]]
      note_passage(reason, site, StreamId::none, now(), now());
    return WaitResult::done;
  }
  if (is_inside_kernel()) {
    throw InvalidState(
        "a kernel asked the runtime to wait for work (by reading or syncing); it would wait for itself: read the value before "
        "the op is called and pass it in",
        site);
  }
  const InsideDoor inside;
  const Nanoseconds begin = now();
  bool all_done = true;
  for (auto point = pending; point != points.end(); ++point) {
    if (is_done(*point)) continue;
    DeviceStream* producer = timeline(point->stream).stream();
    if (producer == nullptr) continue;  // a stream retires only when all its work is done
    all_done = producer->block_until(point->value, deadline) && all_done;
  }
  const Nanoseconds end = now();
  entry.add_wait(end - begin, !all_done);
  note_passage(reason, site, pending->stream, begin, end);
  return all_done ? WaitResult::done : WaitResult::timed_out;
}

BlockingRegion::BlockingRegion(SyncReason reason, Site site)
    : account_(&account(site, reason)), reason_(reason), site_(site), begin_(now()) {
  account_->calls.fetch_add(1, std::memory_order_relaxed);
  ++depth;
}

BlockingRegion::~BlockingRegion() {
  --depth;
  const Nanoseconds end = now();
  account_->add_wait(end - begin_, false);
  note_passage(reason_, site_, StreamId::none, begin_, end);
}

std::vector<SyncTotals> sync_totals() {
  std::vector<SyncTotals> out;
  for_each_account([&](const SiteAccount& a) {
    const std::uint64_t calls = a.calls.load(std::memory_order_relaxed);
    if (calls == 0) return;
    out.push_back({a.site, a.reason, calls, a.blocked.load(std::memory_order_relaxed),
                   a.timed_out.load(std::memory_order_relaxed), a.blocked_time.load(std::memory_order_relaxed),
                   a.longest.load(std::memory_order_relaxed)});
  });
  std::sort(out.begin(), out.end(), [](const SyncTotals& a, const SyncTotals& b) { return a.blocked_time > b.blocked_time; });
  return out;
}

void reset_sync_totals() noexcept {
  for_each_account([](SiteAccount& a) {
    a.calls = 0;
    a.blocked = 0;
    a.timed_out = 0;
    a.blocked_time = 0;
    a.longest = 0;
  });
}

SyncCounts sync_counts() {
  SyncCounts out;
  for (const SyncTotals& entry : sync_totals()) {
    if (is_demand(entry.reason)) {
      out.demand += entry.calls;
      out.demand_blocked += entry.blocked;
    } else {
      out.flow += entry.calls;
    }
    out.blocked_time += entry.blocked_time;
  }
  return out;
}

}  // namespace tutti
