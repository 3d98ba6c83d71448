// All that the coordinator knows and decides, without sockets and clocks: messages, the ends of connections and the time go in,
// messages come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/mesh/control/meetings.h"
#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/control/roster.h"
#include "tutti/mesh/control/store.h"

namespace tutti::control {

struct AssemblyOptions {
  int world = 1;
  std::string job;
  std::chrono::milliseconds dead_after{10'000};
  std::size_t store_limit = std::size_t{64} << 20U;
};

class Assembly {
 public:
  Assembly(const AssemblyOptions& options, Outbox& outbox);

  // A message of a connection that knows the secret. Who has no seat is answered, closed and forgotten unless it takes one.
  void received(SessionId from, std::string_view message, Time now);
  // The connection is gone, or must go; `how` is empty where the other end closed it.
  void closed(SessionId session, std::string how, Time now);
  // What time brings: deadlines, deadlocks, silence. Called when everything that has come is dealt with.
  void tick(Time now);
  [[nodiscard]] Deadline next_deadline() const;

  [[nodiscard]] bool is_member(SessionId session) const { return ranks_.contains(session); }
  [[nodiscard]] const Roster& roster() const noexcept { return roster_; }
  // Nobody is here since then; nothing while somebody is. From the start, where nobody came.
  [[nodiscard]] Deadline empty_since() const noexcept { return empty_since_; }
  [[nodiscard]] bool anybody_came() const noexcept { return anybody_came_; }
  [[nodiscard]] std::size_t open_meetings() const noexcept { return meetings_.open(); }
  [[nodiscard]] std::size_t stored() const noexcept { return store_.held(); }

 private:
  struct Explanation {
    std::string group;
    std::vector<int> ranks;
    std::uint64_t attempt = 0;
    std::uint64_t generation = 0;
    MeetingReport report;
  };

  void hello(SessionId from, wire::FieldReader& in, Time now);
  // False: no message of ours.
  bool handle(int rank, Request request, wire::FieldReader& in, Time now);
  bool arrive(int rank, wire::FieldReader& in, Time now);
  // With `if_absent` the first to put a key counts.
  bool put(int rank, bool if_absent, wire::FieldReader& in, Time now);
  bool get(int rank, wire::FieldReader& in);
  bool abort(int rank, wire::FieldReader& in);
  bool explain(int rank, wire::FieldReader& in, Time now);
  [[nodiscard]] MeetingReport explanation(int rank, const Call& call, const MeetingEnd& end, Time now);
  void answer(int rank, Answer kind, std::uint64_t ticket, std::string_view text);
  void leave(int rank, Time now);
  [[nodiscard]] std::string lost_frame(int rank) const;
  // What was kept for its groups is of others who held its seat.
  void forget_groups_of(int rank, Time now);
  void stand_up(int rank, Seat::State as, std::string how, Time now);
  // Tells it why, and counts it as dead.
  void drop(int rank, const std::string& why, Time now);
  [[nodiscard]] bool may_ask_more(int rank) const;

  AssemblyOptions options_;
  Outbox& outbox_;
  Roster roster_;
  Meetings meetings_;
  Store store_;
  std::unordered_map<SessionId, int> ranks_;
  std::deque<Explanation> explanations_;
  std::optional<MeetingReport> aborted_;
  Deadline empty_since_;
  bool anybody_came_ = false;
  Deadline silence_check_;
  Time last_tick_{};
};

}  // namespace tutti::control
