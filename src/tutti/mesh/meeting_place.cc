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
// What somebody's end brings about may be seen before the coordinator knows of the end.
constexpr auto news_takes_at_most = 500ms;
// Not one of the attempts at which a meeting in shared memory failed.
constexpr std::uint64_t after_meeting = std::uint64_t{1} << 63U;
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

// The coordinator knows of a wait for as long as it lasts.
struct ToldWait {
  ToldWait(Member& of, const Meeting& at) : member(of), meeting(at) {}
  ~ToldWait() {
    if (is_told) member.waits_no_more(meeting);
  }
  ToldWait(const ToldWait&) = delete;
  ToldWait& operator=(const ToldWait&) = delete;

  Member& member;
  const Meeting& meeting;
  bool is_told = false;
};

// A call that does not end by itself has as long as it takes.
Deadline to_answer(Deadline deadline) {
  return deadline ? Deadline(std::max(*deadline, Clock::now()) + answer_takes_at_most) : std::nullopt;
}

}  // namespace

void raise_to(std::atomic<std::uint64_t>& known, std::uint64_t number) noexcept {
  std::uint64_t before = known.load();
  while (before < number && !known.compare_exchange_weak(before, number)) {}
}

MeetingPlace::MeetingPlace(Member& member, std::string group, std::vector<int> ranks, std::atomic<std::uint64_t>& known)
    : member_(member), group_(std::move(group)), ranks_(std::move(ranks)), known_(known) {
  index_ = static_cast<int>(std::find(ranks_.begin(), ranks_.end(), member_.who().rank) - ranks_.begin());
}

void MeetingPlace::meet(const std::string& what, Deadline deadline, Site site, const Drain& drain, std::uint64_t opening) {
  const Occupied here(is_occupied_, what, site);
  const Meeting meeting{.group = group_,
                        .ranks = ranks_,
                        .what = what,
                        .drains = static_cast<bool>(drain),
                        .deadline = deadline,
                        .site = site,
                        .as_of = known_.load(),
                        .opening = opening};
  try {
    meet_somewhere(meeting, drain);
  } catch (const MemberLost& e) {
    raise_to(known_, e.report.as_of);
    throw;
  }
}

void MeetingPlace::meet_somewhere(const Meeting& meeting, const Drain& drain) {
  if (is_sharing_undecided_ && !is_broken()) {
    // The others know already where they meet.
    decide_sharing(
        member_.put_if_absent(sharing_key(), "not decided in time", ranks_, to_answer(meeting.deadline), meeting.site));
  }
  if (is_shared()) return meet_in_memory(meeting, drain);
  const auto [generation, opening] = meet_at_coordinator(meeting, drain);
  opening_ = opening;
  raise_to(known_, generation);
  if (generation == generation_.load()) return;
  // Others than those who met last, or the first time.
  let_go();
  generation_.store(generation);
  shared_for_.store(known_.load());
  share(meeting.deadline, meeting.site);
}

void MeetingPlace::let_go() noexcept {
  const std::lock_guard lock(guard_);
  shared_.store(nullptr);
}

Released MeetingPlace::meet_at_coordinator(const Meeting& meeting, const Drain& drain) {
  const std::unique_ptr<Arrival> arrival = member_.arrive(meeting);
  // Where the deadline passes before the devices are done, the coordinator's report says so to all.
  if (drain && drain()) arrival->ready();
  return arrival->wait();
}

std::string MeetingPlace::agree(const std::string& key, const std::string& fault, Deadline by, Deadline answer_by, Site site) {
  StoreRendezvous store(member_, ranks_, generation_, answer_by, site);
  store.put(text(key, "/", member_.who().rank), fault);
  std::string verdict;
  try {
    if (index_ != 0) return store.get(key, by);
    for (const int rank : ranks_) {
      const std::string said = store.get(text(key, "/", rank), by);
      if (said.empty()) continue;
      verdict = text("rank ", rank, ": ", said);
      break;
    }
  } catch (const CoordinatorLost&) {
    throw;
  } catch (const JobAborted&) {
    throw;
  } catch (const Error& e) {
    verdict = e.message();  // somebody is late or gone
  }
  // The first verdict counts, also for who has been away meanwhile.
  return member_.put_if_absent(key, verdict, ranks_, answer_by, site);
}

std::string MeetingPlace::sharing_key() const { return text("sharing memory/", group_, "/", generation_.load()); }

// All have just met and all do this next. It counts only if it worked for every one.
void MeetingPlace::share(Deadline deadline, Site site) {
  if (ranks_.size() > static_cast<std::size_t>(SharedMeeting::most_members)) return;
  owned_.reset();
  is_sharing_undecided_ = true;
  const auto limit = std::min(deadline.value_or(Clock::time_point::max()), Clock::now() + sharing_limit);
  const auto answer_by = limit + answer_takes_at_most;
  std::string fault;
  try {
    try {
      StoreRendezvous store(member_, ranks_, generation_, answer_by, site);
      // Every member decides for itself: one that is not to share says so, and none does.
      if (!environment_bool("TUTTI_SHARED_MEMORY").value_or(true)) throw InvalidState("TUTTI_SHARED_MEMORY says so", site);
      owned_ = SharedMeeting::open(store, text("meeting/", group_, "/", generation_.load()), static_cast<int>(ranks_.size()),
                                   index_, limit);
    } catch (const Error& e) {
      fault = e.message();
    } catch (const std::bad_alloc&) {
      fault = "no memory is left";
    }
    decide_sharing(agree(sharing_key(), fault, limit, answer_by, site));
  } catch (const Error& e) {
    // All have met all the same. The next meeting begins with it, or says who is gone.
    log(LogLevel::debug, text(group_, " has not agreed where it meets: ", e.message()));
  }
}

void MeetingPlace::decide_sharing(const std::string& verdict) {
  is_sharing_undecided_ = false;
  if (!verdict.empty()) {
    owned_.reset();
    return log(LogLevel::debug, text(group_, " meets at the coordinator: ", verdict));
  }
  const std::lock_guard lock(guard_);
  shared_.store(owned_.get());
  if (is_broken()) owned_->fail();
}

void MeetingPlace::meet_in_memory(const Meeting& meeting, const Drain& drain) {
  const auto came = Clock::now();
  owned_->arrive(hash_of(meeting.what), text(meeting.what, " at ", meeting.site.to_string()), meeting.drains, came);
  auto begin = came;
  if (drain) {
    // The others learn at their own deadline that this one still drains.
    if (!drain()) fail(meeting, owned_->give_up());
    owned_->ready();
    begin = Clock::now();
  }
  ToldWait told(member_, meeting);
  const auto on_delay = [&](const MeetingMembers& so_far) -> Clock::time_point {
    if (!std::exchange(told.is_told, true)) {
      member_.waits_at(meeting, [shared = owned_.get()] { return shared->is_waiting(); });
      return begin + log_every;
    }
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    log(LogLevel::warning, text(meeting.what, " of ", group_, ": still waiting for rank ", listed(ranks_in(~so_far, ranks_)),
                                " after ", waited, " s"));
    return Clock::now() + log_every;
  };
  const MeetingOutcome outcome = owned_->wait(meeting.deadline, {.at = begin + worth_telling, .call = on_delay});
  if (outcome.ending != MeetingState::released) fail(meeting, outcome);
}

void MeetingPlace::fail(const Meeting& meeting, const MeetingOutcome& outcome) {
  MeetingReport report = explain(meeting, outcome);
  // All who were there know it now, whether or not each has heard of the loss itself.
  if (report.cause == MeetingReport::Cause::member_lost && !report.missing.empty()) let_go();
  throw_meeting_failed(std::move(report), meeting.site);
}

void MeetingPlace::throw_if_lost(const std::string& what, Site site) {
  const Meeting meeting{.group = group_, .ranks = ranks_, .what = what, .site = site};
  const MeetingEnd end{.attempt = after_meeting + opening_,
                       .generation = generation_.load(),
                       .cause = MeetingReport::Cause::member_lost,
                       .arrived = ranks_};
  MeetingReport report = ask(meeting, end, Clock::now() + member_.dead_after());
  if (report.cause == MeetingReport::Cause::member_lost && report.missing.empty()) return;
  raise_to(known_, report.as_of);
  throw_meeting_failed(std::move(report), site);
}

// Again, where somebody is lost and nobody knows yet who.
MeetingReport MeetingPlace::ask(const Meeting& meeting, const MeetingEnd& end, Deadline deadline) {
  MeetingReport report = member_.explain(meeting, end, deadline);
  if (report.cause != MeetingReport::Cause::member_lost || !report.missing.empty()) return report;
  {
    const auto until = Clock::now() + news_takes_at_most;
    std::unique_lock lock(guard_);
    is_lost_.wait_until(lock, deadline ? std::min(until, *deadline) : until, [this] { return is_broken(); });
  }
  return member_.explain(meeting, end, deadline);
}

// What this process saw; why it ended is for the coordinator to say, which knows of deaths, circles and the job's end.
MeetingReport MeetingPlace::explain(const Meeting& meeting, const MeetingOutcome& outcome) {
  MeetingEnd end;
  end.attempt = outcome.attempt;
  end.generation = generation_.load();
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
  try {
    return ask(meeting, end, to_answer(meeting.deadline));
  } catch (const CoordinatorLost&) {
    // Who is gone it alone knows; who came is in the memory too.
    if (end.cause == MeetingReport::Cause::member_lost) throw;
    return as_seen_here(meeting, end);
  }
}

MeetingReport MeetingPlace::as_seen_here(const Meeting& meeting, const MeetingEnd& end) const {
  MeetingReport report;
  report.cause = end.cause;
  report.what = meeting.what;
  report.group = group_;
  report.arrived = static_cast<int>(end.arrived.size());
  report.expected = static_cast<int>(ranks_.size());
  report.waited = end.waited;
  report.detail = text("the coordinator did not answer, so this is what rank ", member_.who().rank, " saw",
                       end.detail.empty() ? "" : "\n", end.detail);
  const auto list = [&](const std::vector<int>& ranks, bool are_missing, MissingMember::Why why) {
    for (const int rank : ranks_) {
      if (std::binary_search(ranks.begin(), ranks.end(), rank) == are_missing) continue;
      MissingMember member;
      member.rank = rank;
      member.why = why;
      report.missing.push_back(member);
    }
  };
  list(end.arrived, true, MissingMember::Why::not_arrived);
  list(end.draining, false, MissingMember::Why::draining);
  return report;
}

void MeetingPlace::lose(int rank, std::uint64_t ended) {
  if (rank >= 0 && std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end()) return;
  const std::lock_guard lock(guard_);
  lost_.store(std::max(lost_.load(), ended));
  SharedMeeting* const shared = shared_.load();
  if (shared != nullptr && is_broken()) shared->fail();
  is_lost_.notify_all();
}

void MeetingPlace::break_circle(const MeetingReport& report) {
  if (report.group != group_) return;
  const std::lock_guard lock(guard_);
  if (SharedMeeting* const shared = shared_.load()) shared->end_for_all();
}

}  // namespace tutti::detail
