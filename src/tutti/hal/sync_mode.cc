#include "tutti/hal/sync_mode.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"

namespace tutti {

namespace {

constexpr std::size_t most_syncs_kept = 8;

// What TUTTI_SYNC asks of every thread; "report" is for the report at the end of the program, and forbids nothing.
OnSync mode_of_process() {
  static const OnSync mode = [] {
    const std::optional<std::string> word = environment_text("TUTTI_SYNC");
    if (!word || *word == "allow" || *word == "report") return OnSync::allow;
    if (*word == "count") return OnSync::count;
    if (*word == "warn") return OnSync::warn;
    if (*word == "error") return OnSync::error;
    log(LogLevel::warning, text("TUTTI_SYNC=", *word, " is ignored: it takes allow, count, warn, error or report"));
    return OnSync::allow;
  }();
  return mode;
}

using detail::SyncScopeEntry;

struct ThreadState {
  std::optional<OnSync> mode;  // outside all scopes; none: the process's
  SyncScopeEntry* innermost = nullptr;
};
thread_local ThreadState state;

// Innermost first, but for those that another thread has left.
template <class Visit>
void for_each_open(const Visit& visit) {
  for (SyncScopeEntry* each = detail::without_left(state.innermost); each != nullptr; each = each->outer) {
    if (!each->is_left.load(std::memory_order_acquire)) visit(*each);
  }
}

// The innermost scope that sets a mode; null: none does.
SyncScopeEntry* scope_with_mode() noexcept {
  SyncScopeEntry* found = nullptr;
  for_each_open([&](SyncScopeEntry& each) { found = found == nullptr && each.mode ? &each : found; });
  return found;
}

std::atomic<SyncWarnings> warnings{SyncWarnings::once_per_site};

// True the first time a site and reason come by.
bool is_first_warning(const SyncRequest& request) {
  static std::mutex& mutex = *new std::mutex;
  static auto& seen = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return seen.insert(text(to_string(request.reason), '@', request.site.to_string(), ':', request.site.column())).second;
}

// "a value read of what matmul made", "an event sync"
std::string name_of(const SyncRequest& request) {
  std::string name = text("a ", to_string(request.reason));
  if (request.reason == SyncReason::event_sync) name = "an event sync";
  if (request.reason == SyncReason::all_devices_sync) name = "a sync of all devices";
  return *request.op.row == '\0' ? name : text(name, " of what ", request.op.function, " made");
}

const char* way_out(const SyncRequest& request) noexcept {
  switch (request.reason) {
    case SyncReason::value_read: return request.sent_for ? "try_get() does not block" : "read_async() or try_read() do not block";
    case SyncReason::data_dependent_shape: return "the form with a stated size does not block";
    default: return "Stream::wait and events order work without the host";
  }
}

}  // namespace

void set_sync_debug_mode(OnSync mode) noexcept {
  SyncScopeEntry* scope = scope_with_mode();
  if (scope != nullptr) scope->set_at.reset();
  (scope != nullptr ? scope->mode : state.mode) = mode;
}
OnSync get_sync_debug_mode() noexcept {
  const SyncScopeEntry* scope = scope_with_mode();
  const std::optional<OnSync>& mode = scope != nullptr ? scope->mode : state.mode;
  return mode ? *mode : mode_of_process();
}
void set_sync_warnings(SyncWarnings how_often) noexcept { warnings.store(how_often, std::memory_order_relaxed); }

namespace detail {

void SyncScopeEntry::happened(const SyncRequest&, bool) noexcept { demand_syncs.fetch_add(1, std::memory_order_relaxed); }

OpenSyncScope::OpenSyncScope(const char* what, std::unique_ptr<SyncScopeEntry> entry, Site site) noexcept
    : what_(what), entry_(entry.release()), site_(site) {
  enter_scope(state.innermost, entry_);
}
OpenSyncScope::~OpenSyncScope() { leave_scope(state.innermost, entry_, what_, site_); }

void judge(const SyncRequest& request) {
  if (allowance() != nullptr) return;
  const OnSync mode = get_sync_debug_mode();
  if (mode == OnSync::error) {
    const SyncScopeEntry* scope = scope_with_mode();
    const std::string who = scope != nullptr && scope->set_at
                                ? text("the SyncScope at ", scope->set_at->to_string())
                                : std::string(scope != nullptr || state.mode ? "set_sync_debug_mode" : "TUTTI_SYNC=error");
    throw SyncForbidden(text(name_of(request), " would block the host here, which ", who, " forbids; nothing was waited for. ",
                             way_out(request), "; AllowSync lets a sync through that is meant"),
                        request.site);
  }
  for_each_open([&](SyncScopeEntry& each) { each.before(request); });
  if (mode == OnSync::warn && (warnings.load(std::memory_order_relaxed) == SyncWarnings::always || is_first_warning(request))) {
    log(LogLevel::warning, text(name_of(request), " blocks the host at ", request.site.to_string(), "; ", way_out(request)));
  }
}

void count(const SyncRequest& request) noexcept {
  const bool is_allowed = allowance() != nullptr;
  for_each_open([&](SyncScopeEntry& each) { each.happened(request, is_allowed); });
}

void count_wait(SyncReason reason, Nanoseconds waited) noexcept {
  for_each_open([&](SyncScopeEntry& each) { each.blocked(reason, waited); });
}

const char* allowance() noexcept {
  const char* why = nullptr;
  for_each_open([&](const SyncScopeEntry& each) { why = why == nullptr ? each.allowed : why; });
  return why;
}

}  // namespace detail

namespace {

std::unique_ptr<SyncScopeEntry> mode_entry(OnSync mode, Site site) {
  auto entry = std::make_unique<SyncScopeEntry>();
  entry->mode = mode;
  entry->set_at = site;
  return entry;
}

std::unique_ptr<SyncScopeEntry> allowing_entry(const char* why) {
  auto entry = std::make_unique<SyncScopeEntry>();
  entry->allowed = why != nullptr ? why : "";
  return entry;
}

// Its `demand_syncs` are those that were not allowed: the ones spent.
struct BudgetEntry final : SyncScopeEntry {
  struct Spent {
    SyncReason reason;
    Site site;
  };

  BudgetEntry(std::uint64_t at_most, std::string called, Site opened) : most(at_most), name(std::move(called)), site(opened) {
    first.reserve(std::min<std::uint64_t>(most, most_syncs_kept));
  }

  void before(const SyncRequest& request) override {
    const std::uint64_t spent = demand_syncs.load(std::memory_order_relaxed);
    if (spent < most) return;
    std::string earlier;
    for (const Spent& each : first) earlier += text("\n  ", to_string(each.reason), " at ", each.site.to_string());
    if (spent > first.size()) earlier += text("\n  ... and ", spent - first.size(), " more");
    throw SyncForbidden(text(name_of(request), " would block the host here, and the budget \"", name, "\" of ", most,
                             most == 1 ? " demand sync" : " demand syncs", " at ", site.to_string(), " is spent",
                             earlier.empty() ? "" : ":", earlier),
                        request.site);
  }
  void happened(const SyncRequest& request, bool is_allowed) noexcept override {
    if (is_allowed) return;
    SyncScopeEntry::happened(request, is_allowed);
    if (first.size() < first.capacity()) first.push_back({request.reason, request.site});
  }

  std::uint64_t most;
  std::string name;
  Site site;
  std::vector<Spent> first;  // the first few
};

}  // namespace

SyncCount::SyncCount(Site site) : scope_("SyncCount", std::make_unique<SyncScopeEntry>(), site) {}
SyncScope::SyncScope(OnSync mode, Site site) : scope_("SyncScope", mode_entry(mode, site), site) {}
AllowSync::AllowSync(const char* why, Site site) : scope_("AllowSync", allowing_entry(why), site) {}
SyncBudget::SyncBudget(std::uint64_t most, std::string name, Site site)
    : scope_("SyncBudget", std::make_unique<BudgetEntry>(most, std::move(name), site), site) {}

std::uint64_t SyncBudget::spent() const noexcept { return scope_.entry().demand_syncs.load(std::memory_order_relaxed); }

}  // namespace tutti
