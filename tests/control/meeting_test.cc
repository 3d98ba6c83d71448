#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "control/served.h"
#include "tutti/base/text.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Why = MissingMember::Why;

TEST(AMeeting, LetsNobodyGoBeforeTheLastHasCome) {
  constexpr int world = 4;
  constexpr int rounds = 200;
  const Served served(world);
  const auto members = served.join_all();
  std::atomic<int> came{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const auto& member : members) {
    threads.emplace_back([&, member] {
      for (int round = 0; round < rounds; ++round) {
        came.fetch_add(1);
        member->arrive(meeting_of(world, "barrier 'all'"))->wait();
        if (came.load() < (round + 1) * world) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(came.load(), world * rounds);
}

TEST(AMeeting, OfSomeInvolvesOnlyThose) {
  const Served served(3);
  const auto zero = served.join(0);
  const auto two = served.join(2);
  Meeting meeting = meeting_of(3, "barrier 'pair'", deadline_after(milliseconds(20'000)));
  meeting.ranks = {0, 2};
  const auto first = zero->arrive(meeting);
  const auto second = two->arrive(meeting);
  first->wait();
  second->wait();
}

TEST(AMeeting, TellsAllTheLastOpeningThatOneOfThemAsksFor) {
  const Served served(2);
  const auto members = served.join_all();
  for (const std::uint64_t asked : {3, 0}) {
    Meeting meeting = meeting_of(2, "all_reduce", deadline_after(milliseconds(20'000)));
    const auto first = members[0]->arrive(meeting);
    meeting.opening = asked;
    const Released second = members[1]->arrive(meeting)->wait();
    EXPECT_EQ(second.opening, asked);
    EXPECT_EQ(first->wait().opening, asked);
  }
}

TEST(AMeeting, ThatTimesOutSaysWhoIsMissingAndWhy) {
  const Served served(4);
  MemberOptions options;
  options.heartbeat = milliseconds(5);
  std::atomic<int> asked{0};
  options.doing = [&asked] {
    asked.fetch_add(1);
    return "MatMul at train.cc:31";
  };
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto two = served.join(2, options);
  while (asked.load() < 3) std::this_thread::yield();  // the second was sent before the third was asked for
  const auto begin = Clock::now();
  Meeting meeting = meeting_of(4, "barrier 'before exit'", deadline_after(milliseconds(100)));
  Meeting draining = meeting;
  draining.drains = true;
  const auto second = arrive_before_others(*one, draining);
  const auto first = zero->arrive(meeting);
  const MeetingReport report = report_of<BarrierTimeout>(*first);
  EXPECT_EQ(report_of<BarrierTimeout>(*second).to_text(), report.to_text());
  EXPECT_LT(Clock::now() - begin, milliseconds(100) + slack);
  EXPECT_EQ(report.arrived, 2);
  EXPECT_EQ(report.expected, 4);
  ASSERT_EQ(report.missing.size(), 3U);
  EXPECT_EQ(report.missing[0].rank, 3);
  EXPECT_EQ(report.missing[0].why, Why::never_connected);
  EXPECT_EQ(report.missing[1].rank, 2);
  EXPECT_EQ(report.missing[1].why, Why::not_arrived);
  EXPECT_EQ(report.missing[1].doing, "MatMul at train.cc:31");
  EXPECT_EQ(report.missing[1].pid, getpid());
  EXPECT_EQ(report.missing[2].rank, 1);
  EXPECT_EQ(report.missing[2].why, Why::draining);
  EXPECT_THAT(report.to_text(), HasSubstr("barrier 'before exit' of world: 2 of 4 came within "));
  EXPECT_THAT(report.to_text(), HasSubstr("rank 3: never connected"));
}

TEST(AMeeting, CanBeTriedAgainAndALateMemberMeetsTheRetry) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  EXPECT_THROW(zero->arrive(meeting_of(2, "barrier", deadline_after(milliseconds(30))))->wait(), BarrierTimeout);
  const auto again = zero->arrive(meeting_of(2, "barrier", deadline_after(milliseconds(20'000))));
  one->arrive(meeting_of(2, "barrier", deadline_after(milliseconds(20'000))))->wait();
  again->wait();
}

TEST(AMeeting, FailsForAllAtTheEarliestDeadline) {
  const Served served(3);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto begin = Clock::now();
  const auto patient = arrive_before_others(*zero, meeting_of(3, "barrier", deadline_after(milliseconds(60'000))));
  const auto hasty = one->arrive(meeting_of(3, "barrier", deadline_after(milliseconds(50))));
  const std::string text = report_of<BarrierTimeout>(*patient).to_text();
  EXPECT_EQ(report_of<BarrierTimeout>(*hasty).to_text(), text);
  EXPECT_LT(Clock::now() - begin, milliseconds(50) + slack);
}

TEST(AMeeting, WaitsForThoseThatDrain) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  Meeting draining = meeting_of(2, "barrier");
  draining.drains = true;
  const auto first = zero->arrive(draining);
  const auto second = one->arrive(meeting_of(2, "barrier"));
  std::atomic<bool> ready{false};
  std::thread other([&] {
    second->wait();
    EXPECT_TRUE(ready.load());
  });
  one->put("nothing happens before this is stored", "");
  ready.store(true);
  first->ready();
  first->wait();
  other.join();
}

TEST(AMeeting, ForgetsWhoLeftItWithoutAResult) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  zero->arrive(meeting_of(2, "barrier 'never'")).reset();
  zero->put("withdrawn", "");
  const auto here = one->arrive(meeting_of(2, "barrier", deadline_after(milliseconds(50))));
  EXPECT_EQ(report_of<BarrierTimeout>(*here).arrived, 1);
}

TEST(AMeeting, WhoComesTwiceComesToTheNextOne) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto first = zero->arrive(meeting_of(2, "barrier 'a'"));
  const auto second = zero->arrive(meeting_of(2, "barrier 'b'"));
  one->arrive(meeting_of(2, "barrier 'a'"))->wait();
  one->arrive(meeting_of(2, "barrier 'b'"))->wait();
  second->wait();
  first->wait();
}

TEST(AMeeting, ForDifferentThingsFailsAtOnceAndPrintsBothSides) {
  const Served served(3);
  const auto members = served.join_all();
  const Site here;
  const auto first = arrive_before_others(*members[0], meeting_of(3, "barrier 'a'", std::nullopt, here));
  const auto second = arrive_before_others(*members[1], meeting_of(3, "barrier 'a'"));
  const auto third = members[2]->arrive(meeting_of(3, "all_reduce of float32 [3]"));
  const MeetingReport report = report_of<MeetingMismatch>(*first);
  EXPECT_EQ(report_of<MeetingMismatch>(*second).to_text(), report.to_text());
  EXPECT_EQ(report_of<MeetingMismatch>(*third).to_text(), report.to_text());
  EXPECT_THAT(report.detail,
              StartsWith(text("ranks 0, 1: barrier 'a' at ", here.to_string(), "\nrank 2: all_reduce of float32 [3]")));
}

TEST(AMeeting, ForDifferentThingsTellsOfTheLowerRankFirst) {
  const Served served(2);
  const auto members = served.join_all();
  const auto first = arrive_before_others(*members[1], meeting_of(2, "barrier 'a'"));
  const auto second = members[0]->arrive(meeting_of(2, "barrier 'b'"));
  EXPECT_THAT(report_of<MeetingMismatch>(*first).detail, StartsWith("rank 0: barrier 'b'"));
  EXPECT_THAT(report_of<MeetingMismatch>(*second).detail, HasSubstr("\nrank 1: barrier 'a'"));
}

TEST(AMeeting, ForDifferentThingsIsToldToWhoComesLateToo) {
  const Served served(3);
  const auto members = served.join_all();
  const auto first = members[0]->arrive(meeting_of(3, "barrier 'a'"));
  const auto second = members[1]->arrive(meeting_of(3, "barrier 'b'"));
  const std::string text = report_of<MeetingMismatch>(*first).to_text();
  EXPECT_EQ(report_of<MeetingMismatch>(*second).to_text(), text);
  // Their next attempt is a meeting of its own.
  const auto again = members[0]->arrive(meeting_of(3, "barrier 'a'"));
  const auto late = members[2]->arrive(meeting_of(3, "barrier 'a'"));
  EXPECT_EQ(report_of<MeetingMismatch>(*late).to_text(), text);
  const auto late_again = members[2]->arrive(meeting_of(3, "barrier 'a'"));
  members[1]->arrive(meeting_of(3, "barrier 'a'"))->wait();
  again->wait();
  late_again->wait();
}

TEST(AMeeting, OfOtherMembersUnderTheSameNameIsAMismatch) {
  const Served served(3);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  Meeting pair = meeting_of(3, "barrier");
  pair.ranks = {0, 1};
  const auto first = zero->arrive(pair);
  const auto second = one->arrive(meeting_of(3, "barrier"));
  EXPECT_THAT(report_of<MeetingMismatch>(*first).detail, HasSubstr("with ranks 0, 1"));
  EXPECT_THAT(report_of<MeetingMismatch>(*second).detail, HasSubstr("with ranks 0-2"));
}

TEST(AMeeting, RefusesRanksThatCannotBe) {
  const Served served(2);
  const auto zero = served.join(0);
  Meeting meeting = meeting_of(2, "barrier");
  for (const std::vector<int>& ranks : {std::vector<int>{}, {1}, {1, 0}, {0, 0}, {0, 2}, {-1, 0}}) {
    meeting.ranks = ranks;
    EXPECT_THROW(zero->arrive(meeting), InvalidArgument);
  }
}

}  // namespace
}  // namespace tutti
