// The job's processes and the groups of them that work together. For the files of this module.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "tutti/exec/stream.h"
#include "tutti/mesh/control/member.h"
#include "tutti/mesh/device_line.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/meeting_place.h"

namespace tutti::detail {

// Processes of a mesh, or of a line of it. Lives for ever.
class ProcessGroup {
 public:
  ProcessGroup(Member& member, const std::string& name, const std::vector<int>& ranks);

  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return barriers_.ranks(); }
  [[nodiscard]] int index() const noexcept { return barriers_.index(); }
  [[nodiscard]] const std::string& name() const noexcept { return barriers_.group(); }

  [[nodiscard]] MeetingPlace& barriers() noexcept { return barriers_; }
  // For the one thread that makes the group's collectives: makes sure that all are about to do the same; then the engine, which
  // exchanges memory of the host.
  void roll_call(const std::string& what, Site site);
  Exchange& host_exchange(Site site);
  // After an exchange that failed: all make another at their next roll call. Throws MemberLost where it failed because somebody
  // is gone, or what has ended the job.
  void give_up_exchange(const std::string& what, Site site);
  // Of these devices, one of each process, `own` among them.
  DeviceLine& line(const std::string& devices, Device& own);
  [[nodiscard]] Rendezvous& store() noexcept { return store_; }
  // Of the processes that answered the last roll call; with others, everything between them is made anew.
  [[nodiscard]] std::uint64_t generation() const noexcept { return roll_calls_.generation().load(); }
  // How often they have made it anew all the same, because it had failed.
  [[nodiscard]] std::uint64_t opening() const noexcept { return roll_calls_.opening(); }
  // Where its collectives run.
  [[nodiscard]] Stream& stream() noexcept { return stream_; }

  // Answers the others from the member's thread, until another one does.
  void keep(std::shared_ptr<const void> listener) noexcept { listener_ = std::move(listener); }

  // From the member's thread.
  void lose(int rank, const std::string& why, std::uint64_t ended);
  void break_circle(const MeetingReport& report);
  // The process ends: what its GPUs have sent arrives.
  void close() noexcept;

 private:
  void open_exchange(Site site);
  std::vector<DeviceLine*> lines();
  [[nodiscard]] bool is_lost() const { return ended_ > generation(); }

  Member& member_;
  std::atomic<std::uint64_t> known_{0};  // MeetingPlace
  MeetingPlace barriers_;
  MeetingPlace roll_calls_;
  StoreRendezvous store_;  // outlives the exchange
  Stream stream_;
  std::unique_ptr<Exchange> owned_;
  std::uint64_t made_for_ = 0;  // generation
  std::uint64_t opened_ = 0;    // opening
  int tries_ = 0;               // so many were made for it, by all
  std::uint64_t wanted_ = 0;    // opening: another than that of an exchange that failed
  std::mutex guard_;
  Exchange* exchange_ = nullptr;  // as owned_, once it counts
  std::stop_source gives_up_;     // opening one
  std::string lost_;              // why; empty: nobody ever was
  std::uint64_t ended_ = 0;       // the number of that end
  std::vector<std::unique_ptr<DeviceLine>> lines_;
  std::shared_ptr<const void> listener_;
};

// Joins the job if it was not joined yet.
Member* joined_member(Site site);
// Of these ranks, ascending, this process among them and at least one other. Throws InvalidState in a process that is alone, and
// DeadlineExceeded where the job cannot be joined by then.
ProcessGroup& process_group(const std::vector<int>& ranks, Site site, Deadline deadline = {});

}  // namespace tutti::detail
