// What is said of a meeting that failed.
#include <algorithm>

#include "tutti/mesh/control/meetings.h"
#include "tutti/mesh/control/rank_words.h"

namespace tutti::control {

namespace {

using Why = MissingMember::Why;

// Those that are lost, then those awaited, then those that drain.
int order(Why why) {
  switch (why) {
    case Why::died: return 0;
    case Why::left: return 1;
    case Why::never_connected: return 2;
    case Why::not_arrived: return 3;
    case Why::draining: return 4;
  }
  return 5;
}

void sort_missing(MeetingReport& report) {
  std::stable_sort(report.missing.begin(), report.missing.end(),
                   [](const MissingMember& a, const MissingMember& b) { return order(a.why) < order(b.why); });
}

}  // namespace

std::string Meetings::waiting_at(int rank, const std::string& group, const std::string& what) const {
  for (const Open* meeting : at_[static_cast<std::size_t>(rank)]) {
    if (meeting->group != group || meeting->what != what) {
      return place_in_words(meeting->what, meeting->group, meeting->place(rank)->site);
    }
  }
  return {};
}

// Who is here came, or is about to: what keeps the meeting from taking place is who is not.
MeetingReport Meetings::lost_report(const Call& call, const std::vector<int>& newcomers, Time now) const {
  MeetingReport report;
  report.cause = MeetingReport::Cause::member_lost;
  report.what = call.what;
  report.group = call.group;
  report.expected = static_cast<int>(call.ranks.size());
  for (const int rank : call.ranks) {
    const bool is_new = std::binary_search(newcomers.begin(), newcomers.end(), rank);
    if (is_new || roster_.seat(rank).state != Seat::State::here) report.missing.push_back(roster_.describe(rank, now));
  }
  report.arrived = report.expected - static_cast<int>(report.missing.size());
  report.as_of = roster_.changes();
  sort_missing(report);
  return report;
}

MeetingReport Meetings::report(const Open& meeting, MeetingReport::Cause cause, Time now) const {
  MeetingReport report;
  report.cause = cause;
  report.what = meeting.what;
  report.group = meeting.group;
  report.arrived = static_cast<int>(meeting.came);
  report.expected = static_cast<int>(meeting.ranks.size());
  // At a deadline, what was asked for counts, not when this came to be known.
  const bool late = cause == MeetingReport::Cause::timed_out && meeting.deadline && *meeting.deadline <= now;
  report.waited = std::chrono::round<std::chrono::milliseconds>((late ? *meeting.deadline : now) - meeting.begun);
  for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
    const int rank = meeting.ranks[i];
    const Place& place = meeting.places[i];
    if (place.here && place.ready) continue;
    MissingMember member = roster_.describe(rank, now);
    if (place.here) member.why = Why::draining;
    if (!place.here) member.waiting_at = waiting_at(rank, meeting.group, meeting.what);
    report.missing.push_back(std::move(member));
  }
  sort_missing(report);
  return report;
}

MeetingReport Meetings::explain(const Call& call, const MeetingEnd& end, Time now) const {
  MeetingReport report;
  report.cause = end.cause;
  report.what = call.what;
  report.group = call.group;
  report.arrived = static_cast<int>(end.arrived.size());
  report.expected = static_cast<int>(call.ranks.size());
  report.waited = end.waited;
  report.detail = end.detail;
  const std::string place = key(call, true);
  const auto circle = std::find_if(circles_.begin(), circles_.end(), [&](const auto& known) { return known.first == place; });
  if (end.cause == MeetingReport::Cause::member_lost && circle != circles_.end()) {
    report.cause = MeetingReport::Cause::deadlock;
    report.detail = circle->second;
  }
  for (const int rank : call.ranks) {
    const bool came = std::binary_search(end.arrived.begin(), end.arrived.end(), rank);
    const bool drains = std::binary_search(end.draining.begin(), end.draining.end(), rank);
    MissingMember member = roster_.describe(rank, now);
    // Who lives, and is the one it was, is not who was lost.
    const Seat& seat = roster_.seat(rank);
    const bool is_same = seat.state == Seat::State::here && (end.generation == 0 || seat.generation <= end.generation);
    const bool is_lost = report.cause == MeetingReport::Cause::member_lost;
    if (is_lost && is_same) continue;
    // Who came and died there is missing all the same.
    if (member.why == Why::not_arrived) {
      if (came && !drains && !is_lost) continue;
      if (drains) member.why = Why::draining;
      if (!came) member.waiting_at = waiting_at(rank, call.group, call.what);
    } else if (came && member.why == Why::left) {
      continue;
    }
    report.missing.push_back(std::move(member));
  }
  if (report.cause == MeetingReport::Cause::member_lost) {
    report.as_of = roster_.changes();
    report.arrived = std::min(report.arrived, report.expected - static_cast<int>(report.missing.size()));
  }
  sort_missing(report);
  return report;
}

}  // namespace tutti::control
