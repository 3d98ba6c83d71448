// A meeting: the members of a group come together, say what they are about to do, and go on when all are there and agree; or all
// who came learn who is missing and what each of those was last seen doing.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tutti/base/site.h"
#include "tutti/hal/carried_error.h"

namespace tutti {

// How things stand with one member of a group when a meeting failed.
struct MissingMember {
  enum class Why : std::uint8_t { never_connected, died, left, not_arrived, draining };

  int rank = 0;
  Why why = Why::not_arrived;
  std::string host;                         // empty: never connected
  int pid = 0;                              // 0: never connected, or of a long list: only rank and why are known
  std::chrono::milliseconds last_heard{0};  // how long ago
  std::string how;                          // "its connection closed", "restarted 2 s ago"; empty: nothing to say
  std::string doing;                        // "MatMul at train.cc:31", as it last said
  std::string waiting_at;                   // the meeting it is at instead; empty: at none
};

// The same on every member that came.
struct MeetingReport {
  enum class Cause : std::uint8_t { timed_out, member_lost, mismatch, deadlock, aborted };

  Cause cause = Cause::timed_out;
  std::string what;  // "barrier 'before exit'"
  std::string group;
  int arrived = 0;
  int expected = 0;
  std::chrono::milliseconds waited{0};  // since the first came; 0: not known
  std::vector<MissingMember> missing;   // those that failed or died first, then those not arrived, then those that drain
  std::string detail;                   // both sides of a mismatch, the circle of a deadlock, why the job was aborted
  std::uint64_t as_of = 0;              // of a lost member: how many comings and ends of members had been counted then

  // Several lines, at most 80 columns where names allow.
  [[nodiscard]] std::string to_text() const;
};

// The end of what nobody takes the place of: the job itself, or the coordinator.
inline constexpr std::uint64_t never_back = std::numeric_limits<std::uint64_t>::max();

// How a meeting that was held elsewhere failed, as one who was there saw it.
struct MeetingEnd {
  std::uint64_t attempt = 0;     // tells failures of one group apart
  std::uint64_t generation = 0;  // of the group (Arrival::wait); 0: not known
  MeetingReport::Cause cause = MeetingReport::Cause::timed_out;
  std::vector<int> arrived = {};
  std::vector<int> draining = {};
  std::chrono::milliseconds waited{0};
  std::string detail = {};
};

// clang-format off
struct MeetingFailed : CarriedError {
  MeetingFailed(MeetingReport report, Site site, const std::string& also = {});
  [[noreturn]] void raise(const std::string& also) const override;
  MeetingReport report;
};
struct BarrierTimeout : MeetingFailed { using MeetingFailed::MeetingFailed; };    // Cause::timed_out
struct MemberLost : MeetingFailed { using MeetingFailed::MeetingFailed; };        // Cause::member_lost
struct MeetingMismatch : MeetingFailed { using MeetingFailed::MeetingFailed; };   // Cause::mismatch
struct MeetingDeadlock : MeetingFailed { using MeetingFailed::MeetingFailed; };   // Cause::deadlock
struct JobAborted : MeetingFailed { using MeetingFailed::MeetingFailed; };        // Cause::aborted
// The coordinator refused this process (wrong secret, wrong world, rank already taken) or cannot be reached.
struct JoinRefused : Error { using Error::Error; };
struct CoordinatorLost : CarriedError {
  using CarriedError::CarriedError;
  [[noreturn]] void raise(const std::string& also) const override;
};
// clang-format on

// Throws the type that belongs to the report's cause. `also`: what else the message is to say.
[[noreturn]] void throw_meeting_failed(MeetingReport report, Site site, const std::string& also = {});

}  // namespace tutti
