// What members and the coordinator say to each other, as bytes. A message is its kind and then its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/control/meeting.h"
#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/frames.h"

namespace tutti::control {

enum class Request : std::uint8_t {
  hello = 1,  // Hello
  beat,       // doing
  arrive,     // ticket, Call, drains, timeout in ns or -1, when it gives up by the coordinator's clock, what it knows of, opening
  ready,      // ticket
  withdraw,   // ticket
  inquire,    // ticket: who is missing so far
  put,        // ticket, key, value, ranks it is for; none: it is kept for ever
  get,        // ticket, key, ranks without whom it cannot come, their generation or 0
  forget,     // ticket of a get
  abort,      // why
  explain,    // ticket, Call, MeetingEnd
  waits_at,   // number of the wait, Call
  waits_no_more,  // Call
  still_waits,    // number of the wait, of the question, whether it does
  leave,
  put_if_absent,  // ticket, key, value, ranks it is for; answered with what is stored
};

enum class Answer : std::uint8_t {
  welcome = 64,  // dead_after in ms, its time in ns
  refused,       // why; not a member
  beat,          // its time in ns
  released,      // ticket, Released
  failed,        // ticket, report
  progress,      // ticket, report
  stored,        // ticket
  value,         // ticket, value
  declined,      // ticket, why: misuse or no room
  explained,     // ticket, report
  lost,          // rank, the number of its end (Seat::ended), why
  aborted,       // report
  stuck,         // report: what waits_at told of cannot end
  still,         // number of the wait, of the question: does it still wait?
  dropped,       // why; no longer a member
  withdrawn,     // ticket: nothing had come of it yet
  gone,          // ticket, why: one of those who are needed for a key is
};

// Texts longer than these are refused where they are made, and end the connection where they are read.
inline constexpr std::size_t longest_group = 4096;
inline constexpr std::size_t longest_what = 4096;
inline constexpr std::size_t longest_site = 512;
inline constexpr std::size_t longest_doing = 256;
inline constexpr std::size_t longest_name = 255;  // hosts, jobs
inline constexpr std::size_t longest_key = 1024;
inline constexpr std::size_t longest_value = std::size_t{128} << 10U;
inline constexpr std::size_t longest_why = 4096;
inline constexpr std::size_t longest_detail = 16384;
inline constexpr int largest_world = 65536;
inline constexpr std::int64_t never_gives_up = std::numeric_limits<std::int64_t>::max();

struct Hello {
  std::string job;
  std::uint32_t world = 0;
  std::uint32_t rank = 0;
  std::uint64_t incarnation = 0;  // told apart from others under the same rank
  std::string host;
  std::uint32_t pid = 0;
  bool comes_back = false;

  void append_to(wire::FieldWriter& out) const;
  static Hello read(wire::FieldReader& in);
};

// Which meeting is meant.
struct Call {
  std::string group;
  std::vector<int> ranks;
  std::string what;
  std::string site;

  void append_to(wire::FieldWriter& out) const;
  static Call read(wire::FieldReader& in, int world);
};

// Any 64 bits may have been sent; what is printed later must not overflow in nanoseconds.
std::chrono::milliseconds read_time(wire::FieldReader& in);
void append_end(wire::FieldWriter& out, const MeetingEnd& end);
MeetingEnd read_end(wire::FieldReader& in, int world);
void append_report(wire::FieldWriter& out, const MeetingReport& report);
MeetingReport read_report(wire::FieldReader& in);

// A whole frame: message(Answer::stored, [&](wire::FieldWriter& out) { out.u64(ticket); })
template <class Kind, class Fields>
void append_message(std::string& out, Kind kind, const Fields& fields) {
  const std::size_t begin = wire::begin_frame(out);
  wire::FieldWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(kind));
  fields(writer);
  wire::end_frame(out, begin);
}
template <class Kind, class Fields>
std::string message(Kind kind, const Fields& fields) {
  std::string out;
  append_message(out, kind, fields);
  return out;
}
template <class Kind>
std::string message(Kind kind) {
  return message(kind, [](wire::FieldWriter&) {});
}

}  // namespace tutti::control
