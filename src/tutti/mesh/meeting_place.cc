#include "tutti/mesh/meeting_place.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "tutti/base/environment.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"

namespace tutti::detail {

namespace {

using namespace std::chrono_literals;

// Time for what everybody does right after a meeting, and for the coordinator to hear of a wait.
constexpr auto sharing_limit = 5s;
constexpr auto worth_telling = 100ms;
constexpr auto log_every = 10s;

std::uint64_t hash_of(std::string_view words) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

std::vector<int> ranks_in(const MeetingMembers& members, const std::vector<int>& ranks) {
  std::vector<int> out;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (members[i]) out.push_back(ranks[i]);
  }
  return out;
}

std::string listed(const std::vector<int>& ranks) {
  std::string out;
  for (const int rank : ranks) out += text(out.empty() ? "" : ", ", rank);
  return out;
}

// One thread of the process at a time.
class Occupied {
 public:
  Occupied(std::atomic<bool>& flag, const std::string& what, Site site) : flag_(flag) {
    if (flag.exchange(true, std::memory_order_acquire))
      throw InvalidState(text("another thread of this process is at a meeting of the same processes while ", what,
                              " begins: they follow each other, so call them from one thread"),
                         site);
  }
  ~Occupied() { flag_.store(false, std::memory_order_release); }
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

MeetingPlace::MeetingPlace(Member& member, std::string group, std::vector<int> ranks)
    : member_(member), group_(std::move(group)), ranks_(std::move(ranks)) {
  index_ = static_cast<int>(std::find(ranks_.begin(), ranks_.end(), member_.who().rank) - ranks_.begin());
}

void MeetingPlace::meet(const std::string& what, Deadline deadline, Site site, const Drain& drain) {
  const Occupied here(is_occupied_, what, site);
  const Meeting meeting{
      .group = group_, .ranks = ranks_, .what = what, .drains = static_cast<bool>(drain), .deadline = deadline, .site = site};
  if (is_shared()) return meet_in_memory(meeting, drain);
  meet_at_coordinator(meeting, drain);
  if (!std::exchange(has_tried_to_share_, true)) share(site);
}

void MeetingPlace::meet_at_coordinator(const Meeting& meeting, const Drain& drain) {
  const std::unique_ptr<Arrival> arrival = member_.arrive(meeting);
  // Where the deadline passes before the devices are done, the coordinator's report says so to all.
  if (drain && drain()) arrival->ready();
  arrival->wait();
}

// All have just met and all do this next. It counts only if it worked for every one; the second meeting settles that.
void MeetingPlace::share(Site site) {
  if (ranks_.size() > static_cast<std::size_t>(SharedMeeting::most_members)) return;
  const Deadline limit = Clock::now() + sharing_limit;
  const std::string key = "meeting/" + group_ + "/";
  std::unique_ptr<SharedMeeting> made;
  bool is_open = false;
  try {
    StoreRendezvous store(member_, site);
    try {
      // Settled by every member for itself: one that is not to share says "no", and none does.
      if (!environment_bool("TUTTI_SHARED_MEMORY").value_or(true)) throw InvalidState("TUTTI_SHARED_MEMORY says so", site);
      made = SharedMeeting::open(store, key + "segment", static_cast<int>(ranks_.size()), index_, limit);
    } catch (const Error& e) {
      log(LogLevel::debug, text(group_, " meets at the coordinator: ", e.message()));
    }
    store.put(text(key, "open/", member_.who().rank), made != nullptr ? "yes" : "no");
    member_.arrive({.group = group_ + " (sharing)", .ranks = ranks_, .what = "sharing memory", .deadline = limit, .site = site})
        ->wait();
    is_open = true;
    for (const int rank : ranks_) is_open = store.get(text(key, "open/", rank), limit) == "yes" && is_open;
  } catch (const Error& e) {
    // Whoever is gone is named at the next meeting, which is the coordinator's.
    log(LogLevel::debug, text(group_, " meets at the coordinator: ", e.message()));
    is_open = false;
  }
  if (!is_open) return;
  owned_ = std::move(made);
  shared_.store(owned_.get());
  if (is_broken_.load()) owned_->fail();
}

void MeetingPlace::meet_in_memory(const Meeting& meeting, const Drain& drain) {
  owned_->arrive(hash_of(meeting.what), text(meeting.what, " at ", meeting.site.to_string()), meeting.drains);
  if (drain) {
    // The others learn at their own deadline that this one still drains.
    if (!drain()) return explain(meeting, owned_->give_up());
    owned_->ready();
  }
  const auto begin = Clock::now();
  bool is_told = false;
  const auto on_delay = [&](const MeetingMembers& came) -> Clock::time_point {
    if (!std::exchange(is_told, true)) {
      member_.waits_at(meeting);
      return begin + log_every;
    }
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    log(LogLevel::warning, text(meeting.what, " of ", group_, ": still waiting for rank ", listed(ranks_in(~came, ranks_)),
                                " after ", waited, " s"));
    return Clock::now() + log_every;
  };
  const MeetingOutcome outcome = owned_->wait(meeting.deadline, {.at = begin + worth_telling, .call = on_delay});
  if (is_told) member_.waits_no_more(meeting);
  if (outcome.ending != MeetingState::released) explain(meeting, outcome);
}

void MeetingPlace::explain(const Meeting& meeting, const MeetingOutcome& outcome) {
  MeetingReport::Cause cause = MeetingReport::Cause::timed_out;
  std::string detail;
  if (outcome.ending == MeetingState::mismatch) {
    cause = MeetingReport::Cause::mismatch;
    for (const MeetingSide& side : outcome.sides)
      detail += text(detail.empty() ? "" : "\n", "rank ", ranks_[static_cast<std::size_t>(side.member)], ": ", side.said);
  }
  if (outcome.ending == MeetingState::failed) {
    const std::lock_guard lock(guard_);
    cause = cause_;
    if (cause != MeetingReport::Cause::member_lost) detail = why_;  // who is lost is in the list
  }
  const std::vector<int> own{member_.who().rank};
  std::vector<int> arrived = outcome.came ? ranks_in(*outcome.came, ranks_) : own;
  std::vector<int> draining = ranks_in(outcome.draining, ranks_);
  if (outcome.is_draining) {
    arrived = ranks_;
    draining = outcome.came ? ranks_in(~*outcome.came, ranks_) : std::vector<int>();
  }
  throw_meeting_failed(member_.explain(meeting, outcome.attempt, cause, arrived, draining, detail), meeting.site);
}

void MeetingPlace::lose(int rank, const std::string& why) {
  if (rank >= 0 && std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end()) return;
  {
    const std::lock_guard lock(guard_);
    cause_ = rank < 0 ? MeetingReport::Cause::aborted : MeetingReport::Cause::member_lost;
    why_ = why;
  }
  is_broken_.store(true);
  if (SharedMeeting* const shared = shared_.load()) shared->fail();
}

void MeetingPlace::break_circle(const MeetingReport& report) {
  if (report.group != group_) return;
  {
    const std::lock_guard lock(guard_);
    cause_ = report.cause;
    why_ = report.detail;
  }
  if (SharedMeeting* const shared = shared_.load()) shared->end_for_all();
}

}  // namespace tutti::detail
