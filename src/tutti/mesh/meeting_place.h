// Where the processes of a group meet, in turn: at the coordinator, and from their second meeting on in shared memory where all
// are on one host. For the files of this module.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/mesh/control/member.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/engines/shared_meeting.h"

namespace tutti::detail {

// The coordinator's store, as engines want it, for one group: who waits for a key does so while all of it are there.
class StoreRendezvous final : public Rendezvous {
 public:
  // `put_by`: the coordinator must have answered by then. `generation` is read with each call.
  StoreRendezvous(Member& member, const std::vector<int>& ranks, const std::atomic<std::uint64_t>& generation, Deadline put_by,
                  Site site)
      : member_(member), ranks_(ranks), generation_(generation), put_by_(put_by), site_(site) {}
  void put(const std::string& key, const std::string& value) override { member_.put(key, value, site_, ranks_, put_by_); }
  std::string get(const std::string& key, Deadline deadline) override {
    return member_.get(key, deadline, site_, ranks_, generation_.load());
  }

 private:
  Member& member_;
  const std::vector<int>& ranks_;
  const std::atomic<std::uint64_t>& generation_;
  Deadline put_by_;
  Site site_;
};

// Never less than it was.
void raise_to(std::atomic<std::uint64_t>& known, std::uint64_t number) noexcept;

class MeetingPlace {
 public:
  // Done, or the deadline passed before it was.
  using Drain = std::function<bool()>;

  // `known`: what has become of these processes, as far as the program has been told, at this place and others of theirs.
  MeetingPlace(Member& member, std::string group, std::vector<int> ranks, std::atomic<std::uint64_t>& known);

  // One thread at a time: throws InvalidState where another of this process is there. Throws MeetingFailed.
  // `opening`: which connections between the processes this one wants (Released::opening).
  void meet(const std::string& what, Deadline deadline, Site site, const Drain& drain = {}, std::uint64_t opening = 0);
  // All agreed to meet in shared memory.
  [[nodiscard]] bool is_shared() const noexcept {
    return shared_.load(std::memory_order_acquire) != nullptr && !is_broken() && known_.load() <= shared_for_.load();
  }
  // Of the processes that met last (Arrival::wait): the same on all of them.
  [[nodiscard]] const std::atomic<std::uint64_t>& generation() const noexcept { return generation_; }
  // As they have agreed at the coordinator. For the one thread that meets.
  [[nodiscard]] std::uint64_t opening() const noexcept { return opening_; }

  // After what needed all who met last has failed: throws MemberLost where one of them is gone, or what has ended the job.
  void throw_if_lost(const std::string& what, Site site);

  [[nodiscard]] const std::string& group() const noexcept { return group_; }
  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] int index() const noexcept { return index_; }

  // After each has tried something of its own: what the first that could not says, empty where all could by then. Decided once,
  // for all. Throws CoordinatorLost where it does not answer by `answer_by`: then it is not known.
  std::string agree(const std::string& key, const std::string& fault, Deadline by, Deadline answer_by, Site site);

  // From the member's thread: one of the group is gone, the job was aborted (-1), or a circle was found.
  void lose(int rank, std::uint64_t ended);
  void break_circle(const MeetingReport& report);

 private:
  void meet_somewhere(const Meeting& meeting, const Drain& drain);
  Released meet_at_coordinator(const Meeting& meeting, const Drain& drain);
  void meet_in_memory(const Meeting& meeting, const Drain& drain);
  void share(Deadline deadline, Site site);
  void decide_sharing(const std::string& verdict);
  [[nodiscard]] std::string sharing_key() const;
  // One of those who meet is gone: what they share is of no more use.
  [[nodiscard]] bool is_broken() const noexcept { return lost_.load() > generation_.load(); }
  void let_go() noexcept;
  [[noreturn]] void fail(const Meeting& meeting, const MeetingOutcome& outcome);
  [[nodiscard]] MeetingReport explain(const Meeting& meeting, const MeetingOutcome& outcome);
  [[nodiscard]] MeetingReport ask(const Meeting& meeting, const MeetingEnd& end, Deadline deadline);
  [[nodiscard]] MeetingReport as_seen_here(const Meeting& meeting, const MeetingEnd& end) const;

  Member& member_;
  const std::string group_;
  const std::vector<int> ranks_;
  std::atomic<std::uint64_t>& known_;
  int index_ = 0;
  bool is_sharing_undecided_ = false;     // whether all can share
  std::unique_ptr<SharedMeeting> owned_;  // used once all have agreed to
  std::mutex guard_;                      // shared_ goes only with it
  std::atomic<SharedMeeting*> shared_{nullptr};
  std::atomic<bool> is_occupied_{false};
  std::atomic<std::uint64_t> generation_{0};
  std::uint64_t opening_ = 0;
  std::atomic<std::uint64_t> shared_for_{0};  // what was known when it was shared: a loss told elsewhere counts here too
  std::atomic<std::uint64_t> lost_{0};        // the number of the last end of one of them
  std::condition_variable is_lost_;
};

}  // namespace tutti::detail
