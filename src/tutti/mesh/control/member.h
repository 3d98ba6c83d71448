// This process's seat at the coordinator: one connection, one thread that reads it and sends heartbeats. Any thread may call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"
#include "tutti/mesh/control/meeting.h"
#include "tutti/mesh/control/membership.h"

namespace tutti {

// A coordinator that has not answered so long after a call's deadline is not waited for.
inline constexpr std::chrono::milliseconds answer_takes_at_most{750};

struct MemberOptions {
  std::chrono::milliseconds connect_timeout{60'000};
  std::chrono::milliseconds heartbeat{1'000};
  std::chrono::milliseconds dead_after{10'000};  // nothing heard for so long
  std::chrono::milliseconds log_every{10'000};   // who is still missing, where a meeting takes long
  // This process takes leave only for a while, and another comes under its rank (`tutti barrier` in a script): others wait for it
  // as for one that has not come yet. Otherwise who waits for a member that has left is told so at once.
  bool comes_back = false;
  // What this process is doing, for others' reports: asked with each heartbeat, from the member's thread. Short, never blocks.
  std::function<std::string()> doing;
};

// What is asked of a meeting. Meetings of one group follow each other: the n-th of one member meets the n-th of the others, and a
// failed one does not count, so that it can be tried again.
struct Meeting {
  std::string group;       // the same text on every member: who they are and what for
  std::vector<int> ranks;  // of the group, ascending, this process among them
  std::string what;        // "barrier 'before exit'": all must say the same
  bool drains = false;     // the member says ready() later, when its devices have done their work
  Deadline deadline = {};
  Site site;
  // The generation of the last meeting of these, or `as_of` of the last report, whichever is more: where another process has
  // taken a rank since, this one is told first. 0: it met nobody yet.
  std::uint64_t as_of = 0;
  std::uint64_t opening = 0;  // Released::opening, or the next where what was made then is of no more use
};

// What all members of a meeting that took place are told alike.
struct Released {
  // Another once a process has taken the rank of one of them, greater than the number of any end before.
  std::uint64_t generation = 0;
  // The greatest that one of them came with: connections that fail for one are made anew by all.
  std::uint64_t opening = 0;
};

// A member at a meeting. Leaving without a result (an exception on the way) takes the arrival back.
class Arrival {
 public:
  virtual ~Arrival() = default;
  // "My devices have drained." Only where the meeting drains.
  virtual void ready() = 0;
  // Blocks until all are there and ready; throws MeetingFailed. Behind a BlockingRegion of the caller's.
  virtual Released wait() = 0;
};

class Member {
 public:
  // Throws JoinRefused with the coordinator's reason, DeadlineExceeded after connect_timeout.
  static std::shared_ptr<Member> join(const Membership& who, const MemberOptions& options, Site site = {});

  Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  // Takes leave, if leave() has not.
  virtual ~Member() = default;

  // Others can tell it from a death. Calls under way in other threads fail, and so do later ones.
  virtual void leave() noexcept = 0;

  [[nodiscard]] virtual const Membership& who() const noexcept = 0;
  // The address of this process's host that the coordinator is reached from: where other processes can reach it.
  [[nodiscard]] virtual std::string local_host() const = 0;
  [[nodiscard]] virtual std::chrono::milliseconds dead_after() const noexcept = 0;

  // Says "here" at once and comes back; throws at the call only for misuse.
  virtual std::unique_ptr<Arrival> arrive(const Meeting& meeting) = 0;

  // With `ranks`: for a group of them; once one of those is gone for good, the coordinator keeps it for dead_after more.
  // Throws CoordinatorLost where it does not answer by the deadline.
  virtual void put(const std::string& key, const std::string& value, Site site = {}, const std::vector<int>& ranks = {},
                   Deadline deadline = {}) = 0;
  // Waits for the key; throws DeadlineExceeded, what ended the job, or InvalidState once one of `needs` is gone for good, or is
  // not of that generation of theirs any more.
  virtual std::string get(const std::string& key, Deadline deadline, Site site = {}, const std::vector<int>& needs = {},
                          std::uint64_t generation = 0) = 0;
  // As put, unless somebody has put the key already. What is stored then: the same for all who put it so.
  virtual std::string put_if_absent(const std::string& key, const std::string& value, const std::vector<int>& ranks,
                                    Deadline deadline, Site site = {}) = 0;

  // Neither waits. As put, for whoever asks later:
  virtual void tell(const std::string& key, const std::string& value, const std::vector<int>& ranks, Site site = {}) = 0;
  // Called from the member's thread, once somebody has put the key. The number is for forget(), after which a call may still be
  // under way.
  virtual std::uint64_t when_put(const std::string& key, std::function<void(const std::string& value)> call, Site site = {}) = 0;
  virtual void forget(std::uint64_t number) noexcept = 0;

  // Every member's pending and later calls fail with this.
  virtual void abort(const std::string& why) = 0;

  // Called from the member's thread, once for each: a member died, or the job was aborted or the coordinator lost (rank -1), with
  // the number of that end. What came before it was set is told then. The call must not be the one that lets go of the member.
  virtual void on_loss(std::function<void(int rank, const std::string& why, std::uint64_t ended)> call) = 0;

  // Called from the member's thread: what waits_at() told of cannot end, because those it waits for wait in a circle or one of
  // them has gone. The report's group and what say which, its cause why. Set before it is needed.
  virtual void on_deadlock(std::function<void(const MeetingReport& report)> call) = 0;

  // Others meet faster (in shared memory) and come here only when a meeting failed: the coordinator makes one report of it, from
  // who came and its own knowledge of the rest, and gives the same to all who ask. Throws CoordinatorLost where it does not
  // answer by the deadline.
  virtual MeetingReport explain(const Meeting& meeting, const MeetingEnd& end, Deadline deadline = {}) = 0;
  // The same for those who wait long elsewhere: lets the coordinator say where this process waits, and find deadlocks. Does not
  // wait. `still` says, from the member's thread and until waits_no_more(), whether this process waits there yet: asked before a
  // deadlock is called one. What is to be explained is asked before waits_no_more().
  virtual void waits_at(const Meeting& meeting, std::function<bool()> still = {}) = 0;
  virtual void waits_no_more(const Meeting& meeting) noexcept = 0;
};

}  // namespace tutti
