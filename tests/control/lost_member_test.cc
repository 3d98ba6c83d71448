// One report for all who outlive a member, wherever and whenever each of them comes to know of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "control/told.h"

namespace tutti::control {
namespace {

using std::chrono::milliseconds;

class ALostMember : public testing::Test {
 protected:
  // In shared memory, at whose end it asks.
  std::string asks(int rank, std::uint64_t attempt) {
    told.explain(rank, 1, step, {.attempt = attempt, .cause = MeetingReport::Cause::member_lost, .arrived = {rank}});
    return text_of(told.report(rank, Answer::explained));
  }
  std::string comes(int rank) {
    told.arrive(rank, 2, step);
    return text_of(told.report(rank, Answer::failed));
  }
  static std::string text_of(const MeetingReport& report) {
    EXPECT_EQ(report.cause, MeetingReport::Cause::member_lost);
    return report.to_text();
  }

  Told told{4};
  const Call step{"world", {0, 1, 2, 3}, "barrier 'step'", "a.cc:1"};
};

TEST_F(ALostMember, IsToldInTheSameWordsToWhoWasThereAndToWhoComesLater) {
  told.die(2);
  const std::string first = asks(0, 7);
  told.pass(milliseconds(100));
  EXPECT_EQ(comes(3), first);
  told.pass(milliseconds(100));
  EXPECT_EQ(asks(1, 8), first);
  EXPECT_EQ(first,
            "barrier 'step' of world: 3 of 4 came, and a member is lost; missing:\n  rank 2 (host, pid 400): died 0 ms ago");
}

TEST_F(ALostMember, IsToldToThoseWhoWaitAtTheCoordinatorAsToTheOthers) {
  told.arrive(0, 2, step);
  told.die(2);
  const std::string first = text_of(told.report(0, Answer::failed));
  told.pass(milliseconds(100));
  EXPECT_EQ(comes(1), first);
  EXPECT_EQ(asks(3, 1), first);
}

TEST_F(ALostMember, IsToldAnewToWhoComesAgainAndThenAlikeToTheOthers) {
  told.die(2);
  const std::string first = asks(0, 7);
  told.pass(milliseconds(100));
  const std::string second = comes(0);
  EXPECT_NE(second, first);
  told.pass(milliseconds(100));
  EXPECT_EQ(asks(1, 7), first);
  EXPECT_EQ(comes(1), second);
}

TEST_F(ALostMember, IsNamedToWhoHasAskedBeforeItsEndWasKnown) {
  EXPECT_EQ(asks(0, 7), "barrier 'step' of world: 1 of 4 came, and a member is lost");
  told.die(2);
  EXPECT_THAT(asks(0, 7), testing::HasSubstr("rank 2 (host, pid 400): died"));
}

TEST_F(ALostMember, IsNamedToWhoAsksWhenAnotherHasItsPlace) {
  told.die(2);
  told.join(2);
  told.explain(1, 1, step, {.attempt = 7, .generation = 4, .cause = MeetingReport::Cause::member_lost, .arrived = {0, 1, 2, 3}});
  EXPECT_EQ(told.report(1, Answer::explained).to_text(),
            "barrier 'step' of world: 3 of 4 came, and a member is lost; missing:\n"
            "  rank 2 (host, pid 600): not arrived (restarted 0 ns ago, the one before it,\n"
            "  pid 400, died), last heard of 0 ms ago");
}

TEST_F(ALostMember, IsToldOnceToWhoComesFirstWhenAnotherHasItsPlace) {
  told.die(2);
  told.join(2);
  told.arrive(0, 3, step, 4);
  const MeetingReport report = told.report(0, Answer::failed);
  EXPECT_EQ(report.cause, MeetingReport::Cause::member_lost);
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_EQ(report.missing[0].rank, 2);
  for (int rank = 0; rank < 4; ++rank) told.arrive(rank, 4, step, rank == 2 ? 0 : report.as_of);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(told.take(rank, Answer::released).size(), 1U) << rank;
}

TEST_F(ALostMember, IsNotToldAgainWhenAnotherTakesItsPlaceAfterwards) {
  told.die(2);
  told.arrive(0, 3, step, 4);
  const std::uint64_t as_of = told.report(0, Answer::failed).as_of;
  told.join(2);
  for (int rank = 0; rank < 4; ++rank) told.arrive(rank, 4, step, rank == 2 ? 0 : as_of);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(told.take(rank, Answer::released).size(), 1U) << rank;
}

TEST_F(ALostMember, IsNotToldAgainInAnotherGroupWhenAnotherTakesItsPlace) {
  const Call pair{"ranks 0,2", {0, 2}, "barrier 'pair'", "a.cc:2"};
  told.die(2);
  told.arrive(0, 3, step, 4);
  EXPECT_EQ(told.report(0, Answer::failed).missing.size(), 1U);
  told.join(2);
  told.arrive(0, 4, pair, 4);
  told.arrive(2, 4, pair);
  for (const int rank : {0, 2}) EXPECT_EQ(told.take(rank, Answer::released).size(), 1U) << rank;
  // Who has not been told is, and who dies again is news.
  const Call other{"ranks 1,2", {1, 2}, "barrier 'other'", "a.cc:3"};
  told.arrive(1, 5, other, 4);
  EXPECT_EQ(told.report(1, Answer::failed).missing.size(), 1U);
  told.die(2);
  told.join(2);
  told.arrive(0, 6, pair, 6);
  EXPECT_EQ(told.report(0, Answer::failed).missing.size(), 1U);
}

TEST_F(ALostMember, IsNoReasonAnyLongerWhenAnotherHasItsPlace) {
  told.die(2);
  asks(0, 7);
  told.join(2);
  for (int rank = 0; rank < 4; ++rank) told.arrive(rank, 3, step);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(told.take(rank, Answer::released).size(), 1U) << rank;
}

}  // namespace
}  // namespace tutti::control
