#include "tutti/mesh/control/roster.h"

#include <algorithm>
#include <utility>

#include "tutti/base/human_time.h"
#include "tutti/base/text.h"

namespace tutti::control {

std::string Roster::objection(const Hello& hello) const {
  if (hello.world != seats_.size()) {
    return text("rank ", hello.rank, " says that the world has ", hello.world, " members, the coordinator says ", seats_.size());
  }
  if (hello.rank >= seats_.size()) return text("rank ", hello.rank, " is not in a world of ", seats_.size());
  const auto rank = static_cast<int>(hello.rank);
  if (seat(rank).state == Seat::State::here)
    return text("rank ", rank, " is already taken by ", name(rank).substr(name(rank).find('(')));
  return {};
}

void Roster::sit_down(const Hello& hello, SessionId session, Time now) {
  Seat& seat = this->seat(static_cast<int>(hello.rank));
  if (seat.state == Seat::State::never_came) ++came_;
  if (seat.gone_for_good()) --gone_for_good_;
  std::string before;
  if (seat.gone_for_good())
    before = text("the one before it, pid ", seat.pid, seat.state == Seat::State::dead ? ", died" : ", left");
  const std::uint64_t replaced = seat.ended;
  std::vector<bool> told = std::move(seat.told);
  seat = Seat{};
  seat.replaced = replaced;
  seat.told = std::move(told);
  seat.state = Seat::State::here;
  seat.session = session;
  seat.host = hello.host;
  seat.pid = hello.pid;
  seat.incarnation = hello.incarnation;
  seat.generation = ++changes_;
  seat.comes_back = hello.comes_back;
  seat.heard = seat.joined = now;
  seat.before = std::move(before);
  ++here_;
}

void Roster::stand_up(int rank, Seat::State as, std::string how, Time now) {
  Seat& seat = this->seat(rank);
  // For who is silent, the last word counts; for who hangs up, this moment is it.
  if (how.empty()) seat.heard = now;
  seat.state = as;
  seat.session = 0;
  seat.how = std::move(how);
  seat.open_requests = 0;
  seat.ended = ++changes_;
  seat.told.clear();
  --here_;
  if (seat.gone_for_good()) ++gone_for_good_;
}

std::uint64_t Roster::generation_of(const std::vector<int>& ranks) const {
  std::uint64_t last = 0;
  for (const int rank : ranks) last = std::max(last, seat(rank).generation);
  return last;
}

void Roster::note_told(int rank, const MeetingReport& report) {
  if (report.cause != MeetingReport::Cause::member_lost) return;
  for (const MissingMember& member : report.missing) {
    Seat& seat = this->seat(member.rank);
    const std::uint64_t end = seat.state == Seat::State::here ? seat.replaced : seat.ended;
    if (end == 0 || end > report.as_of) continue;  // it is of an earlier one
    seat.told.resize(seats_.size());
    seat.told[static_cast<std::size_t>(rank)] = true;
  }
}

bool Roster::is_news(int newcomer, std::uint64_t as_of, int rank) const {
  const Seat& seat = this->seat(newcomer);
  return seat.replaced > as_of && (seat.told.empty() || !seat.told[static_cast<std::size_t>(rank)]);
}

MissingMember Roster::describe(int rank, Time now) const {
  using Why = MissingMember::Why;
  const Seat& seat = this->seat(rank);
  MissingMember member;
  member.rank = rank;
  if (seat.state == Seat::State::never_came) {
    member.why = Why::never_connected;
    return member;
  }
  member.why = seat.state == Seat::State::here ? Why::not_arrived : seat.state == Seat::State::dead ? Why::died : Why::left;
  member.host = seat.host;
  member.pid = static_cast<int>(seat.pid);
  member.last_heard = std::chrono::duration_cast<std::chrono::milliseconds>(now - seat.heard);
  member.how = seat.how;
  if (seat.state == Seat::State::here && !seat.before.empty()) {
    member.how = text("restarted ", human_time(std::chrono::nanoseconds(now - seat.joined).count()), " ago, ", seat.before);
  }
  member.doing = seat.doing;
  return member;
}

std::string Roster::end_of(int rank) const {
  const Seat& seat = this->seat(rank);
  if (seat.state == Seat::State::here) return text(name(rank), " has taken the place of one that is gone");
  return text(name(rank), seat.state == Seat::State::left ? " left" : " died", seat.how.empty() ? "" : ": ", seat.how);
}

std::string Roster::name(int rank) const {
  const Seat& seat = this->seat(rank);
  return text("rank ", rank, " (", printable(seat.host), ", pid ", seat.pid, ")");
}

}  // namespace tutti::control
