// What the coordinator keeps for groups is gone when nobody can use it any more.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/mesh/control/assembly.h"

namespace tutti::control {
namespace {

using std::chrono::milliseconds;

constexpr int world = 3;
constexpr int groups = 1'000;

class Deaf final : public Outbox {
  void send(SessionId /*to*/, std::string_view /*frames*/) override {}
  void close(SessionId /*session*/) override {}
};

class ManyGroups : public testing::Test {
 protected:
  ManyGroups() {
    for (int rank = 0; rank < world; ++rank) join(rank);
  }
  static AssemblyOptions options() {
    AssemblyOptions options;
    options.world = world;
    options.dead_after = milliseconds(1'000);
    return options;
  }
  void say(int rank, const std::string& frame) {
    assembly.received(sessions[static_cast<std::size_t>(rank)], std::string_view(frame).substr(4), now);
  }
  void join(int rank) {
    sessions[static_cast<std::size_t>(rank)] = next_session++;
    Hello hello;
    hello.world = world;
    hello.rank = static_cast<std::uint32_t>(rank);
    say(rank, message(Request::hello, [&](wire::FieldWriter& out) { hello.append_to(out); }));
  }
  void die(int rank) { assembly.closed(sessions[static_cast<std::size_t>(rank)], {}, now); }
  void put(int rank, const std::string& key, const std::vector<int>& ranks) {
    say(rank,
        message(Request::put, [&](wire::FieldWriter& out) { out.u64(1).text(key).text(std::string(100, 'v')).ranks(ranks); }));
  }
  void arrive(int rank, const std::string& group, const std::string& what) {
    say(rank, message(Request::arrive, [&](wire::FieldWriter& out) {
          out.u64(next_ticket++);
          Call{group, ranks_of_all, what, ""}.append_to(out);
          out.u8(0).i64(-1).i64(never_gives_up).u64(0).u64(0);
        }));
  }
  void pass(milliseconds time) {
    for (int rank = 0; rank < world; ++rank) say(rank, message(Request::beat, [](wire::FieldWriter& out) { out.text(""); }));
    now += time;
    assembly.tick(now);
  }

  const std::vector<int> ranks_of_all{0, 1, 2};
  Deaf deaf;
  Time now{std::chrono::hours(1)};
  std::vector<SessionId> sessions = std::vector<SessionId>(world);
  SessionId next_session = 1;
  std::uint64_t next_ticket = 1;
  Assembly assembly{options(), deaf};
};

TEST_F(ManyGroups, LeaveNothingInTheStoreWhenOneOfThemIsDead) {
  for (int i = 0; i < groups; ++i) {
    for (int rank = 0; rank < world; ++rank) put(rank, text("group ", i, "/", rank), ranks_of_all);
  }
  put(0, "for the others", {0, 1});
  put(0, "for all", {});
  const std::size_t before = assembly.stored();
  EXPECT_GT(before, std::size_t{groups} * world * 100);
  die(2);
  // Who heard of it first may still leave word for the others.
  put(0, "why it gave up", ranks_of_all);
  pass(milliseconds(900));
  EXPECT_GT(assembly.stored(), before);
  pass(milliseconds(200));
  EXPECT_GT(assembly.stored(), 200U) << "what others use is kept";
  EXPECT_LT(assembly.stored(), 1'000U);
  die(1);
  pass(milliseconds(1'100));
  EXPECT_LT(assembly.stored(), 500U);
  EXPECT_GT(assembly.stored(), 100U) << "what is for no group is kept";
}

TEST_F(ManyGroups, AreKeptForAMemberThatTookTheSeatOfADeadOneAndPutItsOwn) {
  put(0, "key", ranks_of_all);
  die(2);
  join(2);
  EXPECT_EQ(assembly.stored(), 0U) << "it has nothing to do with those before it";
  put(2, "key", ranks_of_all);
  const std::size_t held = assembly.stored();
  pass(milliseconds(900));
  pass(milliseconds(900));
  EXPECT_EQ(assembly.stored(), held);
}

TEST_F(ManyGroups, LeaveNoMeetingOpenWhenOneOfThemIsDead) {
  for (int i = 0; i < groups; ++i) {
    const std::string group = text("group ", i);
    arrive(0, group, "barrier 'a'");
    if (i % 2 == 0) arrive(1, group, "barrier 'b'");  // told to rank 2 when it comes
    if (i % 5 == 0) {
      say(0, message(Request::waits_at, [&](wire::FieldWriter& out) {
            Call{group, ranks_of_all, "elsewhere", ""}.append_to(out.u64(1));
          }));
    }
  }
  EXPECT_GE(assembly.open_meetings(), std::size_t{groups});
  die(2);
  EXPECT_EQ(assembly.open_meetings(), 0U);
}

}  // namespace
}  // namespace tutti::control
