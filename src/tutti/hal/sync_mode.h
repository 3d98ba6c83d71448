// What a demand sync does to the thread that makes it: nothing, a count, a warning or an exception. Judged is the call, not the
// race: whether the value happens to be there makes no difference.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tutti/base/clock.h"
#include "tutti/base/scope_chain.h"
#include "tutti/base/site.h"
#include "tutti/hal/sync_reason.h"

namespace tutti {

struct SyncRequest;

enum class OnSync : std::uint8_t {
  allow,
  count,  // allowed; says in code that the scope is there to count
  warn,
  error,  // SyncForbidden, before anything blocks
};

// Of the calling thread. A thread starts with what TUTTI_SYNC says: allow, count, warn or error; otherwise allow.
void set_sync_debug_mode(OnSync mode) noexcept;
OnSync get_sync_debug_mode() noexcept;

// Of the process. A loop that syncs in every step warns once, unless told otherwise.
enum class SyncWarnings : std::uint8_t { once_per_site, always };
void set_sync_warnings(SyncWarnings how_often) noexcept;

namespace detail {

// What a scope asks of its thread's demand syncs, and hears of them.
struct SyncScopeEntry : ScopeLink<SyncScopeEntry> {
  SyncScopeEntry() = default;
  SyncScopeEntry(const SyncScopeEntry&) = delete;
  SyncScopeEntry& operator=(const SyncScopeEntry&) = delete;
  virtual ~SyncScopeEntry() = default;

  // May throw; nothing has happened yet.
  virtual void before(const SyncRequest&) {}
  virtual void happened(const SyncRequest& request, bool is_allowed) noexcept;
  // The thread did block, for any reason.
  virtual void blocked(SyncReason, Nanoseconds) noexcept {}

  std::atomic<std::uint64_t> demand_syncs{0};  // that the thread went through since
  std::optional<OnSync> mode;                  // that it sets
  std::optional<Site> set_at;                  // where; none: set_sync_debug_mode has set another since
  const char* allowed = nullptr;               // the reason, where it allows all
};

// Puts an entry into the thread's chain, and takes it out at its end. Belongs to its thread and is left in reverse order.
class OpenSyncScope {
 public:
  OpenSyncScope(const char* what, std::unique_ptr<SyncScopeEntry> entry, Site site) noexcept;
  ~OpenSyncScope();
  OpenSyncScope(const OpenSyncScope&) = delete;
  OpenSyncScope& operator=(const OpenSyncScope&) = delete;

  [[nodiscard]] SyncScopeEntry& entry() const noexcept { return *entry_; }

 private:
  const char* what_;
  SyncScopeEntry* entry_;
  Site site_;
};

// For the door: throws SyncForbidden or warns. Demand syncs only.
void judge(const SyncRequest& request);
void count(const SyncRequest& request) noexcept;
void count_wait(SyncReason reason, Nanoseconds waited) noexcept;
// The reason of the innermost AllowSync of the thread; null: there is none.
const char* allowance() noexcept;

}  // namespace detail

// Counts the demand syncs that the thread goes through while it lives, the allowed ones too; forbids nothing.
class SyncCount {
 public:
  explicit SyncCount(Site site = {});

  [[nodiscard]] std::uint64_t demand_syncs() const noexcept {
    return scope_.entry().demand_syncs.load(std::memory_order_relaxed);
  }

 private:
  detail::OpenSyncScope scope_;
};

// The thread's mode while it lives.
class SyncScope {
 public:
  explicit SyncScope(OnSync mode, Site site = {});

  [[nodiscard]] std::uint64_t demand_syncs() const noexcept {
    return scope_.entry().demand_syncs.load(std::memory_order_relaxed);
  }

 private:
  detail::OpenSyncScope scope_;
};

// Syncs that are meant: no mode and no budget around it objects, the ledger counts them as ever.
class AllowSync {
 public:
  explicit AllowSync(const char* why, Site site = {});

 private:
  detail::OpenSyncScope scope_;
};

// At most so many demand syncs of the thread while it lives; the next one throws SyncForbidden that names those before it.
class SyncBudget {
 public:
  SyncBudget(std::uint64_t most, std::string name, Site site = {});

  [[nodiscard]] std::uint64_t spent() const noexcept;

 private:
  detail::OpenSyncScope scope_;
};

}  // namespace tutti
