#include "tutti/hal/sync_mode.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"

namespace tutti {

namespace {

constexpr std::size_t most_listed = 8;

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

struct ThreadState {
  std::optional<OnSync> mode;  // none: the process's
  std::optional<Site> set_at;  // the scope that set it
  const char* allowed = nullptr;
  detail::SyncListener* listeners = nullptr;
};
thread_local ThreadState state;

std::atomic<SyncWarnings> warnings{SyncWarnings::once_per_site};

// True the first time a site and reason come by.
bool is_first_warning(const SyncRequest& request) {
  static std::mutex& mutex = *new std::mutex;
  static auto& seen = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return seen.insert(text(to_string(request.reason), '@', request.site.to_string(), ':', request.site.column())).second;
}

// "a value read of MatMul's result"
std::string name_of(const SyncRequest& request) {
  return *request.op == '\0' ? text("a ", to_string(request.reason))
                             : text("a ", to_string(request.reason), " of what ", request.op, " made");
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
  state.mode = mode;
  state.set_at.reset();
}
OnSync get_sync_debug_mode() noexcept { return state.mode ? *state.mode : mode_of_process(); }
void set_sync_warnings(SyncWarnings how_often) noexcept { warnings.store(how_often, std::memory_order_relaxed); }

namespace detail {

SyncListener::SyncListener() noexcept : outer_(std::exchange(state.listeners, this)) {}
SyncListener::~SyncListener() { state.listeners = outer_; }

void judge(const SyncRequest& request) {
  if (state.allowed != nullptr) return;
  const OnSync mode = get_sync_debug_mode();
  if (mode == OnSync::error) {
    const std::string who = state.set_at ? text("the SyncScope at ", state.set_at->to_string())
                                         : std::string(state.mode ? "set_sync_debug_mode" : "TUTTI_SYNC=error");
    throw SyncForbidden(text(name_of(request), " would block the host here, which ", who, " forbids; nothing was waited for. ",
                             way_out(request), "; AllowSync lets a sync through that is meant"),
                        request.site);
  }
  for (SyncListener* each = state.listeners; each != nullptr; each = each->outer_) each->before(request);
  if (mode == OnSync::warn && (warnings.load(std::memory_order_relaxed) == SyncWarnings::always || is_first_warning(request))) {
    log(LogLevel::warning, text(name_of(request), " blocks the host at ", request.site.to_string(), "; ", way_out(request)));
  }
}

void count(const SyncRequest& request) noexcept {
  for (SyncListener* each = state.listeners; each != nullptr; each = each->outer_)
    each->happened(request, state.allowed != nullptr);
}

const char* allowance() noexcept { return state.allowed; }

}  // namespace detail

SyncScope::SyncScope(OnSync mode, Site site) noexcept
    : mode_before_(std::exchange(state.mode, mode)), set_before_(std::exchange(state.set_at, site)) {}

SyncScope::~SyncScope() {
  state.mode = mode_before_;
  state.set_at = set_before_;
}

AllowSync::AllowSync(const char* why) noexcept : before_(std::exchange(state.allowed, why != nullptr ? why : "")) {}
AllowSync::~AllowSync() { state.allowed = before_; }

SyncBudget::SyncBudget(std::uint64_t most, std::string name, Site site) : most_(most), name_(std::move(name)), site_(site) {
  first_.reserve(std::min<std::uint64_t>(most, most_listed));
}

void SyncBudget::before(const SyncRequest& request) {
  if (spent_ < most_) return;
  std::string earlier;
  for (const Spent& each : first_) earlier += text("\n  ", to_string(each.reason), " at ", each.site.to_string());
  if (spent_ > first_.size()) earlier += text("\n  ... and ", spent_ - first_.size(), " more");
  throw SyncForbidden(text(name_of(request), " would block the host here, and the budget \"", name_, "\" of ", most_,
                           most_ == 1 ? " demand sync" : " demand syncs", " at ", site_.to_string(), " is spent",
                           earlier.empty() ? "" : ":", earlier),
                      request.site);
}

void SyncBudget::happened(const SyncRequest& request, bool is_allowed) noexcept {
  if (is_allowed) return;
  ++spent_;
  if (first_.size() < first_.capacity()) first_.push_back({request.reason, request.site});
}

}  // namespace tutti
