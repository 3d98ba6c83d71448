// Meetings that wait for each other in a circle.
#include <algorithm>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/mesh/control/meetings.h"
#include "tutti/mesh/control/rank_words.h"

namespace tutti::control {

namespace {

// Those of whom nobody ever asks are few: who was there does so, or says that it waits no more.
constexpr std::size_t most_circles = 64;

}  // namespace

void Meetings::forget_circle(const std::string& key) {
  std::erase_if(circles_, [&](const auto& known) { return known.first == key; });
}

std::string Meetings::waits_at(int rank, std::uint64_t wait, Call call, Time now) {
  const std::string place_key = key(call, true);
  const auto group = groups_.find(place_key);
  if (group == groups_.end()) forget_circle(place_key);
  Open* meeting = group == groups_.end() ? begin(call, true, now) : group->second.front();
  if (meeting == nullptr) return "the coordinator has no room for more meetings";
  Place* place = meeting->place(rank);
  // Members that do not agree on the group find that out where they meet.
  if (place == nullptr || place->here) return {};
  *place = {.here = true, .ready = true, .ticket = wait, .deadline = {}, .site = std::move(call.site)};
  ++meeting->came;
  ++meeting->ready;
  at_[static_cast<std::size_t>(rank)].push_back(meeting);
  changed(*meeting, now);
  if (cannot_fill(meeting->ranks)) fail_for_loss(*meeting, now);
  return {};
}

void Meetings::waits_no_more(int rank, const Call& call, Time now) {
  const std::string place_key = key(call, true);
  forget_circle(place_key);
  const auto group = groups_.find(place_key);
  if (group == groups_.end()) return;
  Open& meeting = *group->second.front();
  const Place* place = meeting.place(rank);
  if (place != nullptr && place->here) leave(meeting, rank, now);
}

void Meetings::still_waits(int rank, std::uint64_t wait, std::uint64_t question, bool still, Time now) {
  for (Open* meeting : at_[static_cast<std::size_t>(rank)]) {
    Place& place = *meeting->place(rank);
    if (!meeting->elsewhere || place.ticket != wait) continue;
    if (!still) return leave(*meeting, rank, now);
    place.confirmed = question;
    look_at_ = now;
    return;
  }
}

// Whoever is in a meeting that may go on, or in none, may come to another one afterwards.
bool Meetings::may_still_come(int rank) const {
  if (roster_.seat(rank).state != Seat::State::here) return true;
  const auto& waits = at_[static_cast<std::size_t>(rank)];
  return waits.empty() || std::any_of(waits.begin(), waits.end(), [](const Open* meeting) { return !meeting->stuck; });
}

std::vector<Meetings::Open*> Meetings::find_stuck() {
  std::vector<Open*> stuck;
  for (const auto& [id, meeting] : meetings_) {
    meeting->stuck = meeting->came < meeting->ranks.size() && !meeting->disagreement;
    if (meeting->stuck) stuck.push_back(meeting.get());
  }
  // All are suspects; each round lets those go that somebody may still come to, until none is let go.
  for (bool let_go = true; let_go;) {
    let_go = false;
    for (Open* meeting : stuck) {
      for (std::size_t i = 0; i < meeting->ranks.size() && meeting->stuck; ++i) {
        if (meeting->places[i].here || !may_still_come(meeting->ranks[i])) continue;
        meeting->stuck = false;
        let_go = true;
      }
    }
    std::erase_if(stuck, [](const Open* meeting) { return !meeting->stuck; });
  }
  return stuck;
}

std::string Meetings::circle(const std::vector<Open*>& stuck) {
  constexpr std::size_t most_lines = 16;
  std::string words;
  for (std::size_t n = 0; n < stuck.size(); ++n) {
    if (n == most_lines) return text(words, "\nand ", stuck.size() - n, " more meetings");
    const Open& meeting = *stuck[n];
    std::vector<int> here;
    std::vector<int> awaited;
    std::string site;
    for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
      const Place& place = meeting.places[i];
      if (place.here && here.empty()) site = place.site;
      (place.here ? here : awaited).push_back(meeting.ranks[i]);
    }
    if (n != 0) words += '\n';
    words += text(printable(in_words(here), 200), here.size() == 1 ? " waits at " : " wait at ",
                  place_in_words(meeting.what, meeting.group, site), " for ", printable(in_words(awaited), 200));
  }
  return words;
}

// A meeting elsewhere may have ended while one of its members was stopped and could not say so. Who waited before the question
// and waits after it waited meanwhile; so once all have said yes there was a moment at which all did.
bool Meetings::all_confirm(const std::vector<Open*>& stuck) {
  bool all = true;
  for (Open* meeting : stuck) {
    for (std::size_t i = 0; i < meeting->ranks.size() && meeting->elsewhere; ++i) {
      Place& place = meeting->places[i];
      if (!place.here || place.confirmed == question_) continue;
      all = false;
      if (std::exchange(place.asked, question_) == question_) continue;
      outbox_.send(roster_.seat(meeting->ranks[i]).session,
                   message(Answer::still, [&](wire::FieldWriter& out) { out.u64(place.ticket).u64(question_); }));
    }
  }
  return all;
}

void Meetings::look_for_deadlock(Time now) {
  const std::vector<Open*> stuck = find_stuck();
  std::vector<std::pair<std::uint64_t, std::uint32_t>> seen;
  for (const Open* meeting : stuck) seen.emplace_back(meeting->id, meeting->changes);
  if (stuck.empty() || seen != seen_stuck_) {
    seen_stuck_ = std::move(seen);
    ++question_;
    look_at_ = stuck.empty() ? Deadline() : now + deadlock_after;
    return;
  }
  look_at_.reset();
  if (!all_confirm(stuck)) return;
  seen_stuck_.clear();
  // The reports of all before the first ends: each says where the others wait.
  const std::string words = circle(stuck);
  std::vector<MeetingReport> reports;
  for (const Open* meeting : stuck) {
    reports.push_back(report(*meeting, MeetingReport::Cause::deadlock, now));
    reports.back().detail = words;
    if (!meeting->elsewhere) continue;
    if (circles_.size() == most_circles) circles_.pop_front();
    circles_.emplace_back(key({meeting->group, {}, meeting->what, {}}, true), words);
  }
  for (std::size_t i = 0; i < stuck.size(); ++i) fail(*stuck[i], reports[i]);
  look_soon(now);
}

}  // namespace tutti::control
