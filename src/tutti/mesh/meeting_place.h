// Where the processes of a group meet, in turn: at the coordinator, and from their second meeting on in shared memory where all
// are on one host. For the files of this module.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/mesh/control/member.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/engines/shared_meeting.h"

namespace tutti::detail {

// The coordinator's store, as engines want it, for one group.
class StoreRendezvous final : public Rendezvous {
 public:
  // Who waits for a key does so no longer than until the group `is_broken`.
  StoreRendezvous(Member& member, const std::vector<int>& ranks, const std::atomic<bool>& is_broken, Site site)
      : member_(member), ranks_(ranks), is_broken_(is_broken), site_(site) {}
  void put(const std::string& key, const std::string& value) override { member_.put(key, value, site_, ranks_); }
  std::string get(const std::string& key, Deadline deadline) override;

 private:
  Member& member_;
  const std::vector<int>& ranks_;
  const std::atomic<bool>& is_broken_;
  Site site_;
};

class MeetingPlace {
 public:
  // Done, or the deadline passed before it was.
  using Drain = std::function<bool()>;

  MeetingPlace(Member& member, std::string group, std::vector<int> ranks);

  // One thread at a time: throws InvalidState where another of this process is there. Throws MeetingFailed.
  void meet(const std::string& what, Deadline deadline, Site site, const Drain& drain = {});
  // All agreed to meet in shared memory.
  [[nodiscard]] bool is_shared() const noexcept {
    return shared_.load(std::memory_order_acquire) != nullptr && !is_broken_.load(std::memory_order_acquire);
  }

  [[nodiscard]] const std::string& group() const noexcept { return group_; }
  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] int index() const noexcept { return index_; }

  // After each has tried something of its own: what the first that could not says, empty where all could. Throws MeetingFailed.
  std::string agree(const std::string& what, const std::string& fault, Deadline deadline, Site site);
  // Somebody is gone: shared memory cannot be used any more.
  [[nodiscard]] const std::atomic<bool>& is_broken() const noexcept { return is_broken_; }

  // From the member's thread: one of the group is gone, the job was aborted (-1), or a circle was found.
  void lose(int rank);
  void break_circle(const MeetingReport& report);

 private:
  void meet_at_coordinator(const Meeting& meeting, const Drain& drain);
  void meet_in_memory(const Meeting& meeting, const Drain& drain);
  void share(Site site);
  [[nodiscard]] MeetingReport explain(const Meeting& meeting, const MeetingOutcome& outcome);

  Member& member_;
  const std::string group_;
  const std::vector<int> ranks_;
  int index_ = 0;
  bool has_tried_to_share_ = false;
  std::unique_ptr<SharedMeeting> owned_;
  std::atomic<SharedMeeting*> shared_{nullptr};
  std::atomic<bool> is_occupied_{false};
  std::atomic<bool> is_broken_{false};
};

}  // namespace tutti::detail
