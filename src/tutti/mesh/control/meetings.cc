#include "tutti/mesh/control/meetings.h"

#include <algorithm>

#include "tutti/base/text.h"
#include "tutti/mesh/control/rank_words.h"

namespace tutti::control {

namespace {

using Cause = MeetingReport::Cause;

// Of one group, for members that never come to hear of them.
constexpr std::size_t most_disagreements = 16;
constexpr std::size_t most_memory = std::size_t{256} << 20U;

}  // namespace

Meetings::Place* Meetings::Open::place(int rank) {
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() || *found != rank ? nullptr : &places[static_cast<std::size_t>(found - ranks.begin())];
}

std::string Meetings::key(const Call& call, bool elsewhere) {
  return elsewhere ? text("elsewhere\0", call.group, '\0', call.what) : text("here\0", call.group);
}

Meetings::Open* Meetings::begin(const Call& call, bool elsewhere, Time now) {
  const std::size_t cost =
      sizeof(Open) + call.group.size() * 2 + call.what.size() + call.ranks.size() * (sizeof(Place) + sizeof(int));
  if (cost_ + cost > most_memory) return nullptr;
  auto made = std::make_unique<Open>();
  Open& meeting = *made;
  meeting.id = next_id_++;
  meeting.elsewhere = elsewhere;
  meeting.group = call.group;
  meeting.what = call.what;
  meeting.ranks = call.ranks;
  meeting.places.resize(call.ranks.size());
  meeting.begun = now;
  meeting.cost = cost;
  cost_ += cost;
  groups_[key(call, elsewhere)].push_back(&meeting);
  meetings_.emplace(meeting.id, std::move(made));
  return &meeting;
}

void Meetings::end(Open& meeting) {
  set_deadline(meeting, std::nullopt);
  for (std::size_t i = 0; i < meeting.ranks.size() && !meeting.disagreement; ++i) {
    if (!meeting.places[i].here) continue;
    std::erase(at_[static_cast<std::size_t>(meeting.ranks[i])], &meeting);
    if (!meeting.elsewhere) --roster_.seat(meeting.ranks[i]).open_requests;
  }
  const auto group = groups_.find(key({meeting.group, {}, meeting.what, {}}, meeting.elsewhere));
  std::erase(group->second, &meeting);
  if (group->second.empty()) groups_.erase(group);
  cost_ -= meeting.cost;
  meetings_.erase(meeting.id);
}

void Meetings::changed(Open& meeting, Time now) {
  ++meeting.changes;
  look_soon(now);
}

void Meetings::look_soon(Time now) {
  if (!look_at_ && !meetings_.empty()) look_at_ = now + deadlock_after;
}

void Meetings::set_deadline(Open& meeting, Deadline deadline) {
  if (meeting.deadline == deadline) return;
  if (meeting.deadline) deadlines_.erase({*meeting.deadline, meeting.id});
  meeting.deadline = deadline;
  if (deadline) deadlines_.emplace(*deadline, meeting.id);
}

Meetings::Open* Meetings::turn_of(int rank, const Call& call) const {
  const auto group = groups_.find(key(call, false));
  if (group == groups_.end()) return nullptr;
  for (Open* open : group->second) {
    const Place* place = open->place(rank);
    if (place != nullptr && place->here) continue;
    if (place == nullptr && open->disagreement) continue;
    return open;
  }
  return nullptr;
}

bool Meetings::awaits(int rank, const Call& call) const {
  const Open* meeting = turn_of(rank, call);
  return meeting != nullptr && !meeting->disagreement && meeting->what == call.what && meeting->ranks == call.ranks;
}

std::string Meetings::arrive(int rank, std::uint64_t ticket, Call call, bool drains, Deadline deadline, std::uint64_t opening,
                             Time now) {
  Open* meeting = turn_of(rank, call);
  if (meeting == nullptr) meeting = begin(call, false, now);
  if (meeting == nullptr) return "the coordinator has no room for more meetings";
  if (meeting->disagreement) {
    tell_disagreement(*meeting, rank, ticket);
    return {};
  }
  if (meeting->what != call.what || meeting->ranks != call.ranks) {
    fail_mismatch(*meeting, rank, ticket, call, now);
    return {};
  }
  Place& place = *meeting->place(rank);
  place = {
      .here = true, .ready = !drains, .ticket = ticket, .deadline = deadline, .site = std::move(call.site), .opening = opening};
  ++meeting->came;
  if (place.ready) ++meeting->ready;
  at_[static_cast<std::size_t>(rank)].push_back(meeting);
  ++roster_.seat(rank).open_requests;
  if (deadline && (!meeting->deadline || *deadline < *meeting->deadline)) set_deadline(*meeting, deadline);
  changed(*meeting, now);
  if (cannot_fill(meeting->ranks)) {
    fail_for_loss(*meeting, now);
  } else if (meeting->ready == meeting->ranks.size()) {
    release(*meeting);
  }
  return {};
}

Meetings::Match Meetings::find(int rank, std::uint64_t ticket) {
  for (Open* meeting : at_[static_cast<std::size_t>(rank)]) {
    Place* place = meeting->place(rank);
    if (!meeting->elsewhere && place->ticket == ticket) return {meeting, place};
  }
  return {};
}

bool Meetings::ready(int rank, std::uint64_t ticket, Time now) {
  const auto [meeting, place] = find(rank, ticket);
  if (meeting == nullptr) return false;
  if (place->ready) return true;
  place->ready = true;
  ++meeting->ready;
  changed(*meeting, now);
  if (meeting->ready == meeting->ranks.size()) release(*meeting);
  return true;
}

void Meetings::leave(Open& meeting, int rank, Time now) {
  Place& place = *meeting.place(rank);
  if (place.ready) --meeting.ready;
  place = {};
  --meeting.came;
  std::erase(at_[static_cast<std::size_t>(rank)], &meeting);
  if (!meeting.elsewhere && roster_.seat(rank).state == Seat::State::here) --roster_.seat(rank).open_requests;
  if (meeting.came == 0) return end(meeting);
  Deadline earliest;
  for (const Place& other : meeting.places) {
    if (other.here && other.deadline && (!earliest || *other.deadline < *earliest)) earliest = other.deadline;
  }
  set_deadline(meeting, earliest);
  changed(meeting, now);
}

bool Meetings::withdraw(int rank, std::uint64_t ticket, Time now) {
  const Match match = find(rank, ticket);
  if (match.meeting == nullptr) return false;
  leave(*match.meeting, rank, now);
  return true;
}

bool Meetings::progress(int rank, std::uint64_t ticket, Time now, MeetingReport& out) const {
  const Match match = const_cast<Meetings*>(this)->find(rank, ticket);
  if (match.meeting == nullptr) return false;
  out = report(*match.meeting, Cause::timed_out, now);
  return true;
}

void Meetings::release(Open& meeting) {
  std::string frame;
  const std::uint64_t generation = roster_.generation_of(meeting.ranks);
  std::uint64_t opening = 0;
  for (const Place& place : meeting.places) opening = std::max(opening, place.opening);
  for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
    frame.clear();
    append_message(frame, Answer::released,
                   [&](wire::FieldWriter& out) { out.u64(meeting.places[i].ticket).u64(generation).u64(opening); });
    outbox_.send(roster_.seat(meeting.ranks[i]).session, frame);
  }
  end(meeting);
}

void Meetings::fail(Open& meeting, const MeetingReport& report) {
  for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
    const Place& place = meeting.places[i];
    if (!place.here) continue;
    if (meeting.elsewhere) {
      send_stuck(meeting.ranks[i], report);
    } else {
      send_failed(meeting.ranks[i], place.ticket, report);
    }
  }
  end(meeting);
}

void Meetings::fail_mismatch(Open& meeting, int rank, std::uint64_t ticket, const Call& call, Time now) {
  MeetingReport failed = report(meeting, Cause::mismatch, now);
  ++failed.arrived;
  std::erase_if(failed.missing, [rank](const MissingMember& member) { return member.rank == rank; });
  std::vector<int> came;
  std::string site;
  for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
    if (!meeting.places[i].here) continue;
    if (came.empty()) site = meeting.places[i].site;
    came.push_back(meeting.ranks[i]);
  }
  const bool other_ranks = meeting.ranks != call.ranks;
  const auto side = [other_ranks](const std::vector<int>& who, const std::string& where, const std::string& what,
                                  const std::vector<int>& group) {
    return text(in_words(who), ": ", printable(what, 500), other_ranks ? text(" with ", printable(in_words(group), 200)) : "",
                where.empty() ? "" : " at ", printable(where, 200));
  };
  std::string first = side(came, site, meeting.what, meeting.ranks);
  std::string second = side({rank}, call.site, call.what, call.ranks);
  if (rank < came.front()) first.swap(second);
  failed.detail = text(first, "\n", second);
  send_failed(rank, ticket, failed);
  for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
    if (!meeting.places[i].here) continue;
    send_failed(meeting.ranks[i], meeting.places[i].ticket, failed);
    std::erase(at_[static_cast<std::size_t>(meeting.ranks[i])], &meeting);
    --roster_.seat(meeting.ranks[i]).open_requests;
  }
  set_deadline(meeting, std::nullopt);
  meeting.disagreement = std::move(failed);
  auto& group = groups_[key(call, false)];
  const auto old = [](const Open* open) { return open->disagreement.has_value(); };
  if (static_cast<std::size_t>(std::count_if(group.begin(), group.end(), old)) > most_disagreements) {
    end(**std::find_if(group.begin(), group.end(), old));
  }
  Place* place = meeting.place(rank);
  if (place != nullptr) {
    place->here = true;
    ++meeting.came;
  }
  if (meeting.came == meeting.ranks.size()) end(meeting);
}

void Meetings::send_failed(int rank, std::uint64_t ticket, const MeetingReport& report) {
  roster_.note_told(rank, report);
  outbox_.send(roster_.seat(rank).session, message(Answer::failed, [&](wire::FieldWriter& out) {
                 out.u64(ticket);
                 append_report(out, report);
               }));
}

void Meetings::send_stuck(int rank, const MeetingReport& report) {
  outbox_.send(roster_.seat(rank).session, message(Answer::stuck, [&](wire::FieldWriter& out) { append_report(out, report); }));
}

void Meetings::tell_disagreement(Open& meeting, int rank, std::uint64_t ticket) {
  if (ticket != 0) send_failed(rank, ticket, *meeting.disagreement);
  meeting.place(rank)->here = true;
  if (++meeting.came == meeting.ranks.size()) end(meeting);
}

void Meetings::member_gone(int rank, Time now) {
  // Its own arrivals first: a report must not count it among those who came.
  while (!at_[static_cast<std::size_t>(rank)].empty()) leave(*at_[static_cast<std::size_t>(rank)].back(), rank, now);
  if (!roster_.seat(rank).gone_for_good()) return;
  std::vector<Open*> without_it;
  for (const auto& [id, meeting] : meetings_) {
    if (meeting->place(rank) != nullptr) without_it.push_back(meeting.get());
  }
  for (Open* meeting : without_it) {
    if (!meeting->disagreement) {
      fail_for_loss(*meeting, now);
    } else if (!meeting->place(rank)->here) {
      tell_disagreement(*meeting, rank, 0);  // nobody is left to hear of it
    }
  }
  look_soon(now);
}

void Meetings::fail_all(const MeetingReport& why) {
  while (!meetings_.empty()) {
    Open& meeting = *meetings_.begin()->second;
    if (meeting.elsewhere || meeting.disagreement) {
      end(meeting);
    } else {
      fail(meeting, why);
    }
  }
}

void Meetings::tick(Time now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Open& meeting = *meetings_.at(deadlines_.begin()->second);
    fail(meeting, report(meeting, Cause::timed_out, now));
    look_soon(now);
  }
  if (look_at_ && *look_at_ <= now) look_for_deadlock(now);
}

Deadline Meetings::next_deadline() const {
  Deadline next = look_at_;
  if (!deadlines_.empty() && (!next || deadlines_.begin()->first < *next)) next = deadlines_.begin()->first;
  return next;
}

}  // namespace tutti::control
