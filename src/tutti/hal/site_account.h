// One line of the ledger as the door writes it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "tutti/hal/ledger.h"
#include "tutti/hal/point.h"
#include "tutti/hal/site_notes.h"

namespace tutti {

class Device;
struct SyncRequest;

namespace detail {

// One per site and reason, made on first passage and kept for ever: sites are places in code, so there are few. Counters are
// exact; the rest says what the last passage saw, and single fields of it may come from different threads.
struct SiteAccount {
  using Count = std::atomic<std::uint64_t>;

  Site site;
  SyncReason reason;
  SiteAccount* next = nullptr;
  Count calls{0};
  Count blocked{0};
  Count timed_out{0};
  Count refused{0};
  Count waiting{0};  // no figure: a reset must not touch it while someone is inside
  std::atomic<Nanoseconds> blocked_time{0};
  std::atomic<Nanoseconds> longest{0};
  std::atomic<Nanoseconds> device_idle{0};
  Count bytes{0};
  Count deepest_queue{0};
  std::atomic<const char*> op{nullptr};
  std::atomic<const char*> function{nullptr};
  std::atomic<const Device*> device{nullptr};
  std::atomic<StreamId> stream{StreamId::none};
  Count thread{0};
  std::atomic<bool> several_ops{false};
  std::atomic<bool> several_streams{false};
  std::atomic<bool> several_threads{false};
  Count nothing_queued{0};
  Count already_synced{0};
  Count in_a_row{0};
  Count sent_for{0};
  std::array<Count, intents> stated{};
  std::atomic<const SiteAccount*> synced_before{nullptr};
  std::atomic<const SiteAccount*> previous_at{nullptr};
  Count allowed{0};
  SiteNotes notes;

  SiteAccount(Site where, SyncReason why) noexcept : site(where), reason(why) {}

  // Calls visit(field of an account, field of the totals) for every figure: what is reset, and what is told.
  template <class Visit>
  static void for_each_figure(Visit&& visit);

  void add_wait(Nanoseconds waited, bool late) noexcept;
  void add_allowed(const char* why) noexcept;
  void add_passage(const SyncRequest& request, std::span<const TimelinePoint> points) noexcept;
  void reset() noexcept;
  [[nodiscard]] SyncTotals totals() const;
};

// Found without a lock, except the first time.
SiteAccount& account_of(Site site, SyncReason reason);

// After a wait: the devices of these points that have nothing left to do are idle on this account until work comes.
void begin_idle(SiteAccount& cause, std::span<const TimelinePoint> points) noexcept;

}  // namespace detail

}  // namespace tutti
