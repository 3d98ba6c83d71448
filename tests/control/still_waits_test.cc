// Waits in shared memory end without the coordinator: before it calls them a deadlock it asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "control/told.h"

namespace tutti::control {
namespace {

using std::chrono::milliseconds;

// Two meetings, each of which lacks who is at the other.
class TwoThatWaitForEachOther : public testing::Test {
 protected:
  void wait_for_each_other() {
    told.waits_at(0, 1, rows);
    told.waits_at(1, 1, columns);
    look_twice();
  }
  void look_twice() {
    for (int i = 0; i < 3; ++i) told.pass(deadlock_after);
  }
  bool is_stuck(int rank) { return !told.take(rank, Answer::stuck).empty(); }

  Told told{2};
  const Call rows{"rows", {0, 1}, "barrier 'a'", "a.cc:1"};
  const Call columns{"columns", {0, 1}, "barrier 'b'", "b.cc:1"};
};

TEST_F(TwoThatWaitForEachOther, AreADeadlockOnceBothHaveSaidThatTheyStillWait) {
  wait_for_each_other();
  EXPECT_FALSE(is_stuck(0));
  ASSERT_TRUE(told.answer(0, true));
  told.pass(milliseconds(0));
  EXPECT_FALSE(is_stuck(0)) << "the other may have gone on";
  ASSERT_TRUE(told.answer(1, true));
  told.pass(milliseconds(0));
  EXPECT_TRUE(is_stuck(0));
  EXPECT_TRUE(is_stuck(1));
}

TEST_F(TwoThatWaitForEachOther, AreNoneWhileOneIsStoppedAndCannotAnswer) {
  wait_for_each_other();
  ASSERT_TRUE(told.answer(0, true));
  for (int i = 0; i < 50; ++i) told.pass(deadlock_after);
  EXPECT_FALSE(is_stuck(0));
  EXPECT_FALSE(is_stuck(1));
  EXPECT_TRUE(told.take(0, Answer::still).empty()) << "one question is enough";
}

TEST_F(TwoThatWaitForEachOther, AreNoneWhereOneHadGoneOnBeforeItWasStopped) {
  wait_for_each_other();
  ASSERT_TRUE(told.answer(0, true));
  ASSERT_TRUE(told.answer(1, false));
  look_twice();
  EXPECT_FALSE(is_stuck(0));
  told.waits_no_more(1, columns);  // its own word for it comes later
  look_twice();
  EXPECT_FALSE(is_stuck(0));
}

TEST_F(TwoThatWaitForEachOther, AreNotCalledADeadlockByAnAnswerToAnEarlierQuestion) {
  wait_for_each_other();
  ASSERT_TRUE(told.answer(0, true));
  const std::vector<std::string> earlier = told.take(1, Answer::still);
  ASSERT_EQ(earlier.size(), 1U);
  // It goes on, comes to the same again, and only then its answer is on its way.
  told.waits_no_more(1, columns);
  told.waits_at(1, 2, columns);
  look_twice();
  wire::FieldReader in(earlier.front());
  const std::uint64_t wait = in.u64();
  const std::uint64_t question = in.u64();
  told.say(1, message(Request::still_waits, [&](wire::FieldWriter& out) { out.u64(wait).u64(question).u8(1); }));
  told.say(1, message(Request::still_waits, [&](wire::FieldWriter& out) { out.u64(2).u64(question).u8(1); }));
  look_twice();
  EXPECT_FALSE(is_stuck(0));
  ASSERT_TRUE(told.answer(0, true));
  ASSERT_TRUE(told.answer(1, true));
  told.pass(milliseconds(0));
  EXPECT_TRUE(is_stuck(0));
}

TEST_F(TwoThatWaitForEachOther, OneOfThemAtTheCoordinatorAreFoundByTheOtherAlone) {
  told.arrive(0, 5, rows);
  told.waits_at(1, 1, columns);
  look_twice();
  EXPECT_TRUE(told.take(0, Answer::failed).empty());
  ASSERT_TRUE(told.answer(1, true));
  told.pass(milliseconds(0));
  EXPECT_EQ(told.report(0, Answer::failed).cause, MeetingReport::Cause::deadlock);
  EXPECT_TRUE(is_stuck(1));
}

}  // namespace
}  // namespace tutti::control
