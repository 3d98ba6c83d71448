// What the coordinator knows and decides, without sockets and clocks: members that say one message at a time, and what they are
// told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/control/assembly.h"

namespace tutti::control {

class Told : private Outbox {
 public:
  explicit Told(int world) : assembly(options(world), *this), sessions_(static_cast<std::size_t>(world)) {
    for (int rank = 0; rank < world; ++rank) join(rank);
  }

  void join(int rank) {
    sessions_.at(static_cast<std::size_t>(rank)) = next_session_++;
    Hello hello;
    hello.world = static_cast<std::uint32_t>(sessions_.size());
    hello.rank = static_cast<std::uint32_t>(rank);
    hello.host = "host";
    hello.pid = static_cast<std::uint32_t>(next_session_ * 100);
    say(rank, message(Request::hello, [&](wire::FieldWriter& out) { hello.append_to(out); }));
  }
  void die(int rank) { assembly.closed(sessions_.at(static_cast<std::size_t>(rank)), {}, now); }
  void pass(std::chrono::milliseconds time) {
    now += time;
    assembly.tick(now);
  }
  void say(int rank, const std::string& frame) {
    assembly.received(sessions_.at(static_cast<std::size_t>(rank)), std::string_view(frame).substr(4), now);
  }

  void arrive(int rank, std::uint64_t ticket, const Call& call, std::uint64_t as_of = 0, std::uint64_t opening = 0) {
    say(rank, message(Request::arrive, [&](wire::FieldWriter& out) {
          call.append_to(out.u64(ticket));
          out.u8(0).i64(-1).i64(never_gives_up).u64(as_of).u64(opening);
        }));
  }
  void waits_at(int rank, std::uint64_t wait, const Call& call) {
    say(rank, message(Request::waits_at, [&](wire::FieldWriter& out) { call.append_to(out.u64(wait)); }));
  }
  void waits_no_more(int rank, const Call& call) {
    say(rank, message(Request::waits_no_more, [&](wire::FieldWriter& out) { call.append_to(out); }));
  }
  void explain(int rank, std::uint64_t ticket, const Call& call, const MeetingEnd& end) {
    say(rank, message(Request::explain, [&](wire::FieldWriter& out) {
          call.append_to(out.u64(ticket));
          append_end(out, end);
        }));
  }
  // The last question whether it still waits, answered.
  bool answer(int rank, bool still) {
    const std::vector<std::string> asked = take(rank, Answer::still);
    if (asked.empty()) return false;
    wire::FieldReader in(asked.back());
    const std::uint64_t wait = in.u64();
    const std::uint64_t question = in.u64();
    say(rank, message(Request::still_waits, [&](wire::FieldWriter& out) { out.u64(wait).u64(question).u8(still ? 1 : 0); }));
    return true;
  }

  // What a member was told of this kind since it was last asked for, without the kind.
  std::vector<std::string> take(int rank, Answer kind) {
    auto& all = told_[sessions_.at(static_cast<std::size_t>(rank))];
    std::vector<std::string> taken;
    std::erase_if(all, [&](const std::string& each) {
      if (static_cast<Answer>(each.front()) != kind) return false;
      taken.push_back(each.substr(1));
      return true;
    });
    return taken;
  }
  // The one report it was told, for a ticket.
  MeetingReport report(int rank, Answer kind) {
    const std::vector<std::string> found = take(rank, kind);
    if (found.size() != 1) return {};
    wire::FieldReader in(found.front());
    in.u64();
    return read_report(in);
  }

  Time now{std::chrono::hours(1)};
  Assembly assembly;

 private:
  static AssemblyOptions options(int world) {
    AssemblyOptions options;
    options.world = world;
    options.dead_after = std::chrono::hours(1);
    return options;
  }
  void send(SessionId to, std::string_view frames) override {
    wire::FrameReader reader(wire::largest_answer);
    reader.append(frames);
    while (const auto message = reader.next()) told_[to].emplace_back(*message);
  }
  void close(SessionId) override {}

  std::vector<SessionId> sessions_;
  SessionId next_session_ = 1;
  std::map<SessionId, std::vector<std::string>> told_;
};

}  // namespace tutti::control
