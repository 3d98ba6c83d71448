// Where the processes of a group meet, in turn: at the coordinator, and from their second meeting on in shared memory where all
// are on one host. For the files of this module.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/base/short_lock.h"
#include "tutti/mesh/control/member.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/engines/shared_meeting.h"

namespace tutti::detail {

// The coordinator's store, as engines want it.
class StoreRendezvous final : public Rendezvous {
 public:
  StoreRendezvous(Member& member, Site site) : member_(member), site_(site) {}
  void put(const std::string& key, const std::string& value) override { member_.put(key, value, site_); }
  std::string get(const std::string& key, Deadline deadline) override { return member_.get(key, deadline, site_); }

 private:
  Member& member_;
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

  // From the member's thread: one of the group is gone, the job was aborted (-1), or a circle was found.
  void lose(int rank, const std::string& why);
  void break_circle(const MeetingReport& report);

 private:
  void meet_at_coordinator(const Meeting& meeting, const Drain& drain);
  void meet_in_memory(const Meeting& meeting, const Drain& drain);
  void share(Site site);
  [[noreturn]] void explain(const Meeting& meeting, const MeetingOutcome& outcome);

  Member& member_;
  const std::string group_;
  const std::vector<int> ranks_;
  int index_ = 0;
  bool has_tried_to_share_ = false;
  std::unique_ptr<SharedMeeting> owned_;
  std::atomic<SharedMeeting*> shared_{nullptr};
  std::atomic<bool> is_occupied_{false};
  std::atomic<bool> is_broken_{false};  // somebody is gone: shared memory cannot be used any more
  ShortLock guard_;                     // of what ended it
  MeetingReport::Cause cause_ = MeetingReport::Cause::member_lost;
  std::string why_;
};

}  // namespace tutti::detail
