#include "tutti/mesh/meeting_place.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
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
constexpr auto agreeing_again = 1s;
// So soon does who waits for a key know that nobody is left to put it.
constexpr auto between_looks = 50ms;

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

std::string StoreRendezvous::get(const std::string& key, Deadline deadline) {
  for (;;) {
    const auto look = Clock::now() + between_looks;
    const bool is_last = deadline && *deadline <= look;
    try {
      return member_.get(key, is_last ? deadline : Deadline(look), site_);
    } catch (const DeadlineExceeded&) {
      if (is_last) throw;
      if (is_broken_.load()) throw InvalidState("one of the group is gone", site_);
    }
  }
}

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

std::string MeetingPlace::agree(const std::string& what, const std::string& fault, Deadline deadline, Site site) {
  StoreRendezvous store(member_, ranks_, is_broken_, site);
  const std::string key = text(group_, "/", what, "/");
  store.put(text(key, member_.who().rank), fault);
  Meeting meeting{.group = text(group_, " (", what, ")"), .ranks = ranks_, .what = what, .deadline = deadline, .site = site};
  for (bool is_settled = false; !is_settled;) {
    try {
      member_.arrive(meeting)->wait();
      is_settled = true;
    } catch (const CoordinatorLost&) {
      // The others may have heard what this one has not: all must come to know the same, or the coordinator is lost.
      if (is_broken_.load()) throw;
      meeting.deadline = Clock::now() + agreeing_again;
    }
  }
  for (const int rank : ranks_) {
    const std::string said = store.get(text(key, rank), std::nullopt);  // it is there: all have put before they met
    if (!said.empty()) return text("rank ", rank, ": ", said);
  }
  return {};
}

// All have just met and all do this next. It counts only if it worked for every one.
void MeetingPlace::share(Site site) {
  if (ranks_.size() > static_cast<std::size_t>(SharedMeeting::most_members)) return;
  const Deadline limit = Clock::now() + sharing_limit;
  std::unique_ptr<SharedMeeting> made;
  std::string fault;
  try {
    try {
      StoreRendezvous store(member_, ranks_, is_broken_, site);
      // Settled by every member for itself: one that is not to share says so, and none does.
      if (!environment_bool("TUTTI_SHARED_MEMORY").value_or(true)) throw InvalidState("TUTTI_SHARED_MEMORY says so", site);
      made = SharedMeeting::open(store, "meeting/" + group_, static_cast<int>(ranks_.size()), index_, limit);
    } catch (const Error& e) {
      fault = e.message();
    } catch (const std::bad_alloc&) {
      fault = "no memory is left";
    }
    fault = agree("sharing memory", fault, limit, site);
  } catch (const Error& e) {
    // Whoever is gone is named at the next meeting, which is the coordinator's.
    fault = e.message();
  }
  if (!fault.empty()) return log(LogLevel::debug, text(group_, " meets at the coordinator: ", fault));
  owned_ = std::move(made);
  shared_.store(owned_.get());
  if (is_broken_.load()) owned_->fail();
}

void MeetingPlace::meet_in_memory(const Meeting& meeting, const Drain& drain) {
  const auto came = Clock::now();
  owned_->arrive(hash_of(meeting.what), text(meeting.what, " at ", meeting.site.to_string()), meeting.drains, came);
  auto begin = came;
  if (drain) {
    // The others learn at their own deadline that this one still drains.
    if (!drain()) throw_meeting_failed(explain(meeting, owned_->give_up()), meeting.site);
    owned_->ready();
    begin = Clock::now();
  }
  bool is_told = false;
  const auto on_delay = [&](const MeetingMembers& so_far) -> Clock::time_point {
    if (!std::exchange(is_told, true)) {
      member_.waits_at(meeting);
      return begin + log_every;
    }
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    log(LogLevel::warning, text(meeting.what, " of ", group_, ": still waiting for rank ", listed(ranks_in(~so_far, ranks_)),
                                " after ", waited, " s"));
    return Clock::now() + log_every;
  };
  const MeetingOutcome outcome = owned_->wait(meeting.deadline, {.at = begin + worth_telling, .call = on_delay});
  std::optional<MeetingReport> failure;
  if (outcome.ending != MeetingState::released) failure = explain(meeting, outcome);
  if (is_told) member_.waits_no_more(meeting);
  if (failure) throw_meeting_failed(*std::move(failure), meeting.site);
}

// What this process saw; why it ended is for the coordinator to say, which knows of deaths, circles and the job's end.
MeetingReport MeetingPlace::explain(const Meeting& meeting, const MeetingOutcome& outcome) {
  MeetingEnd end;
  end.attempt = outcome.attempt;
  if (outcome.ending == MeetingState::failed) end.cause = MeetingReport::Cause::member_lost;
  if (outcome.ending == MeetingState::mismatch) {
    end.cause = MeetingReport::Cause::mismatch;
    for (const MeetingSide& side : outcome.sides)
      end.detail += text(end.detail.empty() ? "" : "\n", "rank ", ranks_[static_cast<std::size_t>(side.member)], ": ", side.said);
  }
  end.arrived = outcome.came ? ranks_in(*outcome.came, ranks_) : std::vector<int>{member_.who().rank};
  end.draining = ranks_in(outcome.draining, ranks_);
  if (outcome.is_draining) {
    end.arrived = ranks_;
    end.draining = outcome.came ? ranks_in(~*outcome.came, ranks_) : std::vector<int>();
  }
  if (outcome.since) {
    // At a deadline, what was asked for counts, not when this came to be known.
    const auto now = Clock::now();
    const bool is_late = outcome.ending == MeetingState::timed_out && meeting.deadline && *meeting.deadline <= now;
    end.waited = std::chrono::round<std::chrono::milliseconds>((is_late ? *meeting.deadline : now) - *outcome.since);
  }
  return member_.explain(meeting, end);
}

void MeetingPlace::lose(int rank) {
  if (rank >= 0 && std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end()) return;
  is_broken_.store(true);
  if (SharedMeeting* const shared = shared_.load()) shared->fail();
}

void MeetingPlace::break_circle(const MeetingReport& report) {
  if (report.group != group_) return;
  if (SharedMeeting* const shared = shared_.load()) shared->end_for_all();
}

}  // namespace tutti::detail
