// A meeting of processes in shared memory. All come, say what they are about to do, and go on when all are there and agree; or
// all who came learn the same: that it was given up, and who had come by then. Takes no lock, so a member killed anywhere on its
// way never keeps the others longer than their deadline.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/mesh/engines/meeting_word.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/engines/shared_segment.h"

namespace tutti {

struct MeetingSide {
  int member = 0;
  std::string said;
};

// How a meeting ended: the same on every member that was at it.
struct MeetingOutcome {
  MeetingState ending = MeetingState::released;  // never open
  std::uint32_t attempt = 0;                     // tells one failure from the next
  // All were here and some had still to drain: then `came` holds those that were ready.
  bool is_draining = false;
  // Who had come when it was decided. Empty where this process was away while others tried many times more.
  std::optional<MeetingMembers> came;
  Deadline since;                  // when the first of them came, as far as is still known
  MeetingMembers draining;         // of those who came, who was not yet ready; as seen now
  std::vector<MeetingSide> sides;  // of a mismatch: two members that said different things; empty: they have gone on since
};

struct MeetingDelay {
  Clock::time_point at{};
  std::function<Clock::time_point(const MeetingMembers& came)> call = {};  // none: never
};

class SharedMeeting {
 public:
  static constexpr int most_members = most_meeting_members;
  static constexpr std::size_t longest_text = 256;

  static std::size_t bytes_for(int members) noexcept;
  // Member 0 makes the segment. Throws InvalidArgument for more than most_members.
  static std::unique_ptr<SharedMeeting> open(Rendezvous& rendezvous, const std::string& key, int members, int index,
                                             Deadline deadline);
  // Of a segment of bytes_for(members), zero at first.
  SharedMeeting(SharedSegment segment, int members, int index);

  [[nodiscard]] int size() const noexcept { return members_; }
  [[nodiscard]] int index() const noexcept { return index_; }

  // One thread at a time calls arrive, ready, wait and withdraw, in this order; `hash` stands for `what`, cut to longest_text.
  // "Here." At once. A member that drains says ready() before it waits.
  void arrive(std::uint64_t hash, std::string_view what, bool drains = false, Clock::time_point now = Clock::now());
  void ready() noexcept;
  // Until all are here, and ready where someone drains. Spins and yields for 100 us, then sleeps. Where it takes longer than
  // until delay.at, delay.call is called with who has come so far, and says when to be called again.
  MeetingOutcome wait(Deadline deadline, const MeetingDelay& delay = {});
  // Instead of ready() and wait(), where the deadline passed before this member had drained: the meeting ends for all.
  MeetingOutcome give_up();
  // Takes the arrival back, instead of waiting.
  void withdraw() noexcept;

  // From any thread: this process is at a meeting that is not decided yet.
  [[nodiscard]] bool is_waiting() const noexcept;
  // From any thread: ends what this process is at, for all.
  void end_for_all() noexcept;
  // From any thread: the same, and every later wait of this process ends at once. Others who are at a meeting without this one
  // are not disturbed: they hear for themselves of whoever is gone.
  void fail() noexcept;

 private:
  struct Slot;
  struct Shared;

  [[nodiscard]] Slot& slot(int member, std::uint32_t attempt) const noexcept;
  void say(std::uint32_t attempt) const noexcept;
  [[nodiscard]] bool all_agree(std::uint32_t attempt) const noexcept;
  [[nodiscard]] std::vector<MeetingSide> sides(std::uint32_t attempt) const;
  [[nodiscard]] MeetingWord joined(MeetingWord word, bool drains) const noexcept;
  void keep(MeetingWord& word) noexcept;
  bool put(MeetingWord& before, MeetingWord after) noexcept;
  bool join_only(std::uint32_t attempt) noexcept;
  void end(std::uint32_t attempt, MeetingState state) noexcept;
  void end_second(MeetingState state) noexcept;
  std::uint32_t wait_for(std::uint32_t attempt, Deadline deadline, MeetingDelay& delay);
  [[nodiscard]] MeetingOutcome given_up(std::uint32_t attempt) const;
  [[nodiscard]] MeetingOutcome not_drained() const;
  [[nodiscard]] MeetingMembers draining_at(std::uint32_t attempt) const noexcept;
  void note_first(Deadline& since, std::uint32_t attempt) const noexcept;

  SharedSegment segment_;
  Shared* shared_;
  int members_;
  int index_;
  std::atomic<bool> failed_ = false;

  // Of the arrival in progress.
  Clock::time_point since_{};
  std::uint64_t hash_ = 0;
  std::string what_;
  std::uint32_t attempt_ = 0;
  bool parity_ = false;
  bool drains_ = false;
};

}  // namespace tutti
