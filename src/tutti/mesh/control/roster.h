// Who holds which rank, and what is known of those who do not any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/mesh/control/meeting.h"
#include "tutti/mesh/control/messages.h"

namespace tutti::control {

using Time = Clock::time_point;
// A connection; never used twice.
using SessionId = std::uint64_t;

// What is sent to members goes here.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(SessionId to, std::string_view frames) = 0;
  // Once what was sent has gone.
  virtual void close(SessionId session) = 0;
};

struct Seat {
  enum class State : std::uint8_t { never_came, here, dead, left };

  State state = State::never_came;
  SessionId session = 0;
  std::string host;
  std::uint32_t pid = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t generation = 0;  // the number of its coming among all comings and ends of members; it has one holder
  std::uint64_t ended = 0;       // the number of its end
  std::uint64_t replaced = 0;    // that of the end of the one before it; 0: it is the first
  std::vector<bool> told;        // by rank: who has been told of that end, or of its own; empty: nobody
  bool comes_back = false;
  Time heard{};
  std::string doing;
  std::string how;     // it died
  std::string before;  // "(pid 11, died)": who held the seat before a restart
  Time joined{};
  int open_requests = 0;

  // A meeting need not wait for it any longer.
  [[nodiscard]] bool gone_for_good() const noexcept { return state == State::dead || (state == State::left && !comes_back); }
};

class Roster {
 public:
  explicit Roster(int world) : seats_(static_cast<std::size_t>(world)) {}

  [[nodiscard]] int world() const noexcept { return static_cast<int>(seats_.size()); }
  [[nodiscard]] const Seat& seat(int rank) const { return seats_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int here() const noexcept { return here_; }
  [[nodiscard]] bool all_came() const noexcept { return came_ == world(); }
  [[nodiscard]] bool any_gone_for_good() const noexcept { return gone_for_good_ != 0; }

  // Empty: may sit down. Otherwise why not.
  [[nodiscard]] std::string objection(const Hello& hello) const;
  void sit_down(const Hello& hello, SessionId session, Time now);
  void stand_up(int rank, Seat::State as, std::string how, Time now);

  // That of the one who came last. While all are here it tells these processes from those who held their ranks before: whoever
  // of those has ended did so earlier, whoever of these ends does so later.
  [[nodiscard]] std::uint64_t generation_of(const std::vector<int>& ranks) const;

  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  // The rank gets this report of a loss.
  void note_told(int rank, const MeetingReport& report);
  // Whether the seat was taken again after `as_of`, and the rank has heard of it in no group.
  [[nodiscard]] bool is_news(int newcomer, std::uint64_t as_of, int rank) const;

  // What a report says of a member that is missing.
  [[nodiscard]] MissingMember describe(int rank, Time now) const;
  // "rank 2 (host-a, pid 4711)"
  [[nodiscard]] std::string name(int rank) const;
  // "rank 2 (host-a, pid 4711) died: nothing was heard of it for 10 s"
  [[nodiscard]] std::string end_of(int rank) const;

 private:
  std::vector<Seat> seats_;
  int here_ = 0;
  int came_ = 0;
  int gone_for_good_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace tutti::control
