#include "tutti/hal/ledger.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "tutti/hal/device.h"
#include "tutti/hal/door.h"
#include "tutti/hal/ledger_switch.h"
#include "tutti/hal/site_account.h"
#include "tutti/hal/timeline.h"

namespace tutti {

namespace {

using detail::SiteAccount;

constexpr std::size_t bucket_count = 1024;
constexpr auto relaxed = std::memory_order_relaxed;

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

template <class Visit>
void for_each_account(Visit&& visit) {
  for (const auto& bucket : buckets) {
    for (SiteAccount* entry = bucket.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) visit(*entry);
  }
}

template <class T>
void raise_to(std::atomic<T>& most, T value) noexcept {
  T before = most.load(relaxed);
  while (before < value && !most.compare_exchange_weak(before, value, relaxed)) {}
}

// Remembers the last value; says so when there was another before. Writes only what changes: the line stays shared.
template <class T>
void note(std::atomic<T>& last, std::atomic<bool>& several, T value, T nothing) noexcept {
  const T before = last.load(relaxed);
  if (before == value) return;
  if (before != nothing && !several.load(relaxed)) several.store(true, relaxed);
  last.store(value, relaxed);
}

template <class T>
void clear(std::atomic<T>& figure) noexcept {
  figure.store(T{}, relaxed);
}
template <class T, std::size_t n>
void clear(std::array<std::atomic<T>, n>& figures) noexcept {
  for (auto& each : figures) clear(each);
}

// A figure as the totals have it; what is not there leaves them as they are.
template <class T>
void tell(T& out, const std::atomic<T>& figure) noexcept {
  out = figure.load(relaxed);
}
template <class T, std::size_t n>
void tell(std::array<T, n>& out, const std::array<std::atomic<T>, n>& figures) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = figures[i].load(relaxed);
}
void tell(const char*& out, const std::atomic<const char*>& op) noexcept {
  if (const char* name = op.load(relaxed)) out = name;
}
void tell(std::string& out, const std::atomic<const Device*>& device) {
  if (const Device* last = device.load(relaxed)) out = last->name();
}
void tell(Site& out, const std::atomic<const SiteAccount*>& other) noexcept {
  if (const SiteAccount* account = other.load(relaxed)) out = account->site;
}

std::uint64_t this_thread() noexcept {
  thread_local const auto id = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return id;
}

// The thread's previous read: which, and how much its stream had been given by then.
struct PreviousRead {
  const SiteAccount* account = nullptr;
  TimelinePoint given;
};
thread_local PreviousRead previous_read;

}  // namespace

namespace detail {

void SiteAccount::add_wait(Nanoseconds waited, bool late) noexcept {
  if constexpr (!keeps_ledger) return;
  blocked.fetch_add(1, relaxed);
  if (late) timed_out.fetch_add(1, relaxed);
  blocked_time.fetch_add(waited, relaxed);
  raise_to(longest, waited);
  if (keeps_stacks.load(relaxed)) [[unlikely]]
    notes.offer_stack(waited);
}

void SiteAccount::add_allowed(const char* why) noexcept {
  if constexpr (!keeps_ledger) return;
  allowed.fetch_add(1, relaxed);
  notes.allowed(why);
}

void SiteAccount::add_passage(const SyncRequest& request, std::span<const TimelinePoint> points) noexcept {
  if constexpr (!keeps_ledger) return;
  calls.fetch_add(1, relaxed);
  if (keeps_stacks.load(relaxed)) [[unlikely]]
    notes.offer_stack(0);
  if (request.bytes != 0) bytes.fetch_add(request.bytes, relaxed);
  if (request.sent_for) sent_for.fetch_add(1, relaxed);
  if (request.intent != Intent::unstated) stated[static_cast<std::size_t>(request.intent)].fetch_add(1, relaxed);
  if (*request.op.row != '\0') {
    note<const char*>(op, several_ops, request.op.row, nullptr);
    note<const char*>(function, several_ops, request.op.function, nullptr);
  }
  note(thread, several_threads, this_thread(), std::uint64_t{0});

  const TimelinePoint made = request.made.stream != StreamId::none ? request.made : points.empty() ? TimelinePoint{} : points[0];
  std::uint64_t depth = 0;
  bool ever_queued = false;
  bool all_synced = true;
  for (const TimelinePoint& point : points) {
    if (point.stream == StreamId::none || point.value == 0) continue;
    const Timeline& line = timeline(point.stream);
    ever_queued = true;
    depth += line.submitted() - std::min(line.submitted(), line.completed());
    const Timeline::HostSync before = line.last_sync();
    if (before.value < point.value) {
      all_synced = false;
    } else if (before.by != nullptr) {
      synced_before.store(before.by, relaxed);
    }
  }
  raise_to(deepest_queue, depth);
  if (is_demand(reason) && !points.empty()) {  // a region has no point, and so nothing to say of one
    if (!ever_queued) {
      nothing_queued.fetch_add(1, relaxed);
    } else if (all_synced) {
      already_synced.fetch_add(1, relaxed);
    }
  }
  if (made.stream != StreamId::none) {
    note(stream, several_streams, made.stream, StreamId::none);
    if (const DeviceStream* owner = timeline(made.stream).stream()) device.store(&owner->device(), relaxed);
  }
  if (reason == SyncReason::value_read) {
    const PreviousRead before = previous_read;
    if (before.account != nullptr && made.stream != StreamId::none && before.given.stream == made.stream &&
        before.given.value >= made.value) {
      in_a_row.fetch_add(1, relaxed);
      previous_at.store(before.account, relaxed);
    }
    previous_read = {
        this, made.stream == StreamId::none ? TimelinePoint{} : TimelinePoint{made.stream, timeline(made.stream).submitted()}};
  } else if (is_demand(reason)) {
    previous_read = {};
  }
}

template <class Visit>
void SiteAccount::for_each_figure(Visit&& visit) {
  visit(&SiteAccount::calls, &SyncTotals::calls);
  visit(&SiteAccount::blocked, &SyncTotals::blocked);
  visit(&SiteAccount::timed_out, &SyncTotals::timed_out);
  visit(&SiteAccount::refused, &SyncTotals::refused);
  visit(&SiteAccount::blocked_time, &SyncTotals::blocked_time);
  visit(&SiteAccount::longest, &SyncTotals::longest);
  visit(&SiteAccount::device_idle, &SyncTotals::device_idle);
  visit(&SiteAccount::bytes, &SyncTotals::bytes);
  visit(&SiteAccount::deepest_queue, &SyncTotals::deepest_queue);
  visit(&SiteAccount::op, &SyncTotals::op);
  visit(&SiteAccount::function, &SyncTotals::function);
  visit(&SiteAccount::device, &SyncTotals::device);
  visit(&SiteAccount::stream, &SyncTotals::stream);
  visit(&SiteAccount::thread, &SyncTotals::thread);
  visit(&SiteAccount::several_ops, &SyncTotals::several_ops);
  visit(&SiteAccount::several_streams, &SyncTotals::several_streams);
  visit(&SiteAccount::several_threads, &SyncTotals::several_threads);
  visit(&SiteAccount::allowed, &SyncTotals::allowed);
  visit(&SiteAccount::nothing_queued, &SyncTotals::nothing_queued);
  visit(&SiteAccount::already_synced, &SyncTotals::already_synced);
  visit(&SiteAccount::in_a_row, &SyncTotals::in_a_row);
  visit(&SiteAccount::sent_for, &SyncTotals::sent_for);
  visit(&SiteAccount::stated, &SyncTotals::stated);
  visit(&SiteAccount::synced_before, &SyncTotals::synced_before_at);
  visit(&SiteAccount::previous_at, &SyncTotals::previous_read_at);
}

void SiteAccount::reset() noexcept {
  for_each_figure([this](auto own, auto) { clear(this->*own); });
  notes.clear();
}

SyncTotals SiteAccount::totals() const {
  SyncTotals out;
  out.site = site;
  out.reason = reason;
  out.waiting = waiting.load(relaxed);
  for_each_figure([&](auto own, auto told) { tell(out.*told, this->*own); });
  out.allowed_because = notes.allowed_because();
  out.stack = notes.stack();
  return out;
}

SiteAccount& account_of(Site site, SyncReason reason) {
  if constexpr (!keeps_ledger) {
    static SiteAccount& nobodys = *new SiteAccount(site, reason);
    return nobodys;
  }
  auto& bucket = buckets[(site.hash() + static_cast<std::size_t>(reason)) % bucket_count];
  if (SiteAccount* found = find_in(bucket.load(std::memory_order_acquire), site, reason)) return *found;
  const std::lock_guard lock(growth_mutex());
  if (SiteAccount* found = find_in(bucket.load(std::memory_order_acquire), site, reason)) return *found;
  auto* made = new SiteAccount(site, reason);
  made->next = bucket.load(relaxed);
  bucket.store(made, std::memory_order_release);
  return *made;
}

}  // namespace detail

std::vector<SyncTotals> sync_totals() {
  std::vector<SyncTotals> out;
  for_each_account([&](const SiteAccount& account) {
    if (account.calls.load(relaxed) != 0 || account.refused.load(relaxed) != 0) out.push_back(account.totals());
  });
  std::sort(out.begin(), out.end(), [](const SyncTotals& a, const SyncTotals& b) { return a.blocked_time > b.blocked_time; });
  return out;
}

void reset_sync_totals() noexcept {
  for_each_account([](SiteAccount& account) { account.reset(); });
}

SyncCounts sync_counts() {
  SyncCounts out;
  for_each_account([&](const SiteAccount& account) {
    if (is_demand(account.reason)) {
      out.demand += account.calls.load(relaxed);
      out.demand_blocked += account.blocked.load(relaxed);
    } else {
      out.flow += account.calls.load(relaxed);
    }
    out.blocked_time += account.blocked_time.load(relaxed);
  });
  return out;
}

}  // namespace tutti
