// Meetings in progress: who came, who is awaited, which of them can never complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/control/roster.h"

namespace tutti::control {

// A circle of waiting members must stand still for so long before it is called a deadlock: a member may have more threads.
inline constexpr std::chrono::milliseconds deadlock_after{100};

class Meetings {
 public:
  Meetings(Roster& roster, Outbox& outbox) : roster_(roster), outbox_(outbox), at_(static_cast<std::size_t>(roster.world())) {}

  // The member comes to the first meeting of the group at which it is not yet. Empty, or why there is no room for it.
  std::string arrive(int rank, std::uint64_t ticket, Call call, bool drains, Deadline deadline, std::uint64_t opening, Time now);
  // Others are at just this meeting, and it is not.
  [[nodiscard]] bool awaits(int rank, const Call& call) const;
  // False, here and below: there is no such ticket, because the meeting has just ended.
  bool ready(int rank, std::uint64_t ticket, Time now);
  bool withdraw(int rank, std::uint64_t ticket, Time now);
  bool progress(int rank, std::uint64_t ticket, Time now, MeetingReport& report) const;

  // Meetings held elsewhere, known here for deadlocks and reports only.
  std::string waits_at(int rank, std::uint64_t wait, Call call, Time now);
  void waits_no_more(int rank, const Call& call, Time now);
  // The answer to a question of look_for_deadlock().
  void still_waits(int rank, std::uint64_t wait, std::uint64_t question, bool still, Time now);

  // A report on a meeting held elsewhere, from who came there and what is known of the rest.
  [[nodiscard]] MeetingReport explain(const Call& call, const MeetingEnd& end, Time now) const;
  // The same for all of a group of which somebody is gone for good, wherever and whenever each of them comes to know; nothing:
  // nobody is, or a circle is why.
  std::optional<MeetingReport> explain_loss(int rank, const Call& call, Time now);
  // Who comes has met one of the group whose rank another process has taken since, and was not told, in this group or another:
  // it is, instead.
  bool tell_of_newcomer(int rank, std::uint64_t ticket, const Call& call, std::uint64_t as_of, Time now);
  // Another process holds the rank: those who come now meet it.
  void member_back(int rank);

  // Its seat is empty already: it is at no meeting any more, and those that cannot do without it fail.
  void member_gone(int rank, Time now);
  void fail_all(const MeetingReport& report);
  // Deadlines, deadlocks.
  void tick(Time now);
  [[nodiscard]] Deadline next_deadline() const;

  [[nodiscard]] std::size_t open() const noexcept { return meetings_.size(); }

 private:
  struct Place {
    bool here = false;
    bool ready = false;
    std::uint64_t ticket = 0;  // of a wait elsewhere: its number
    Deadline deadline;
    std::string site;
    std::uint64_t opening = 0;
    std::uint64_t asked = 0;      // the last question whether it still waits elsewhere
    std::uint64_t confirmed = 0;  // the last that it said yes to
  };
  struct Open {
    std::uint64_t id = 0;
    bool elsewhere = false;
    bool stuck = false;  // while a search for deadlocks runs
    std::uint32_t changes = 0;
    std::string group;
    std::string what;
    std::vector<int> ranks;
    std::vector<Place> places;  // beside ranks
    std::size_t came = 0;
    std::size_t ready = 0;
    Time begun{};
    Deadline deadline;
    std::size_t cost = 0;
    // Its members came for different things: those that come late are told so too, each once. `here` then means told.
    std::optional<MeetingReport> disagreement;

    [[nodiscard]] Place* place(int rank);
    [[nodiscard]] const Place* place(int rank) const { return const_cast<Open*>(this)->place(rank); }
  };
  // A meeting that cannot take place without who is gone. Each of the others is told once: who comes again meets the next.
  struct Loss {
    std::string group;
    std::string what;
    std::vector<int> ranks;
    std::vector<int> told;
    MeetingReport report;
  };
  struct Match {
    Open* meeting = nullptr;
    Place* place = nullptr;
  };

  static std::string key(const Call& call, bool elsewhere);
  // The group's meeting that is the member's next; nullptr: none is open.
  [[nodiscard]] Open* turn_of(int rank, const Call& call) const;
  void forget_circle(const std::string& key);
  Open* begin(const Call& call, bool elsewhere, Time now);
  void end(Open& meeting);
  void leave(Open& meeting, int rank, Time now);
  void release(Open& meeting);
  // One of its members is dead, or has left and does not come back.
  [[nodiscard]] bool cannot_fill(const std::vector<int>& ranks) const;
  // The first that `rank` has not been told of; a new one where there is none.
  MeetingReport tell_loss(int rank, const Call& call, Time now);
  void fail_for_loss(Open& meeting, Time now);
  void fail(Open& meeting, const MeetingReport& report);
  void fail_mismatch(Open& meeting, int rank, std::uint64_t ticket, const Call& call, Time now);
  void tell_disagreement(Open& meeting, int rank, std::uint64_t ticket);
  void send_failed(int rank, std::uint64_t ticket, const MeetingReport& report);
  void send_stuck(int rank, const MeetingReport& report);
  void set_deadline(Open& meeting, Deadline deadline);
  void changed(Open& meeting, Time now);
  void look_soon(Time now);
  Match find(int rank, std::uint64_t ticket);
  // Of those who are not here, and of newcomers that have taken the place of one that is gone.
  [[nodiscard]] MeetingReport lost_report(const Call& call, const std::vector<int>& newcomers, Time now) const;
  [[nodiscard]] MeetingReport report(const Open& meeting, MeetingReport::Cause cause, Time now) const;
  // The meeting a member waits at instead of this one, in words.
  [[nodiscard]] std::string waiting_at(int rank, const std::string& group, const std::string& what) const;

  std::vector<Open*> find_stuck();
  [[nodiscard]] bool may_still_come(int rank) const;
  [[nodiscard]] static std::string circle(const std::vector<Open*>& stuck);
  bool all_confirm(const std::vector<Open*>& stuck);
  void look_for_deadlock(Time now);

  Roster& roster_;
  Outbox& outbox_;
  std::map<std::uint64_t, std::unique_ptr<Open>> meetings_;
  std::unordered_map<std::string, std::vector<Open*>> groups_;  // in the order of their turns
  std::vector<std::vector<Open*>> at_;                          // by rank: where it waits
  std::set<std::pair<Time, std::uint64_t>> deadlines_;
  std::uint64_t next_id_ = 1;
  std::size_t cost_ = 0;
  Deadline look_at_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> seen_stuck_;
  std::uint64_t question_ = 0;  // of what is in seen_stuck_
  // Of meetings held elsewhere, by their keys: who was there may ask why it ended before it hears of it.
  std::deque<std::pair<std::string, std::string>> circles_;
  std::deque<Loss> losses_;
};

}  // namespace tutti::control
