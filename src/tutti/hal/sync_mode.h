// What a demand sync does to the thread that makes it: nothing, a count, a warning or an exception. Judged is the call, not the
// race: whether the value happens to be there makes no difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
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

// A scope that hears of the thread's demand syncs, and of all its waits, while it lives.
class SyncListener {
 public:
  SyncListener(const SyncListener&) = delete;
  SyncListener& operator=(const SyncListener&) = delete;

 protected:
  SyncListener() noexcept;
  virtual ~SyncListener();

 private:
  friend void judge(const SyncRequest& request);
  friend void count(const SyncRequest& request) noexcept;
  friend void count_wait(SyncReason reason, Nanoseconds waited) noexcept;
  // May throw; nothing has happened yet.
  virtual void before(const SyncRequest&) {}
  virtual void happened(const SyncRequest& request, bool is_allowed) noexcept = 0;
  // The thread did block, for any reason.
  virtual void blocked(SyncReason, Nanoseconds) noexcept {}
  SyncListener* outer_;
};

// For the door: throws SyncForbidden or warns. Demand syncs only.
void judge(const SyncRequest& request);
void count(const SyncRequest& request) noexcept;
void count_wait(SyncReason reason, Nanoseconds waited) noexcept;
// The reason of the innermost AllowSync of the thread; null: there is none.
const char* allowance() noexcept;

}  // namespace detail

// Counts the demand syncs that the thread goes through while it lives, the allowed ones too; forbids nothing.
class SyncCount final : detail::SyncListener {
 public:
  SyncCount() noexcept = default;
  ~SyncCount() override = default;

  [[nodiscard]] std::uint64_t demand_syncs() const noexcept { return demand_; }

 private:
  void happened(const SyncRequest&, bool) noexcept override { ++demand_; }
  std::uint64_t demand_ = 0;
};

// The thread's mode while it lives.
class SyncScope {
 public:
  explicit SyncScope(OnSync mode, Site site = {}) noexcept;
  ~SyncScope();
  SyncScope(const SyncScope&) = delete;
  SyncScope& operator=(const SyncScope&) = delete;

  [[nodiscard]] std::uint64_t demand_syncs() const noexcept { return count_.demand_syncs(); }

 private:
  std::optional<OnSync> mode_before_;
  std::optional<Site> set_before_;
  SyncCount count_;
};

// Syncs that are meant: no mode and no budget around it objects, the ledger counts them as ever.
class AllowSync {
 public:
  explicit AllowSync(const char* why) noexcept;
  ~AllowSync();
  AllowSync(const AllowSync&) = delete;
  AllowSync& operator=(const AllowSync&) = delete;

 private:
  const char* before_;
};

// At most so many demand syncs of the thread while it lives; the next one throws SyncForbidden that names those before it.
class SyncBudget final : detail::SyncListener {
 public:
  SyncBudget(std::uint64_t most, std::string name, Site site = {});
  ~SyncBudget() override = default;

  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }

 private:
  struct Spent {
    SyncReason reason;
    Site site;
  };
  void before(const SyncRequest& request) override;
  void happened(const SyncRequest& request, bool is_allowed) noexcept override;

  std::uint64_t most_;
  std::string name_;
  Site site_;
  std::uint64_t spent_ = 0;
  std::vector<Spent> first_;  // the first few
};

}  // namespace tutti
