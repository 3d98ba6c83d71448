#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "control/served.h"

namespace tutti {
namespace {

using testing::HasSubstr;

Meeting in_group(const std::string& group, std::vector<int> ranks, const std::string& what, Site site = {}) {
  Meeting meeting;
  meeting.group = group;
  meeting.ranks = std::move(ranks);
  meeting.what = what;
  meeting.site = site;
  return meeting;
}

TEST(ADeadlock, OfTwoGroupsIsToldWithoutATimeoutAndWithTheCircle) {
  const Served served(3);
  const auto members = served.join_all();
  const auto begin = Clock::now();
  const auto first = members[0]->arrive(in_group("rows", {0, 1}, "barrier 'a'"));
  const auto second = members[1]->arrive(in_group("columns", {0, 1, 2}, "barrier 'b'"));
  const auto third = members[2]->arrive(in_group("columns", {0, 1, 2}, "barrier 'b'"));
  const MeetingReport report = report_of<MeetingDeadlock>(*first);
  EXPECT_LT(Clock::now() - begin, milliseconds(300) + slack);
  EXPECT_EQ(report_of<MeetingDeadlock>(*second).to_text(), report_of<MeetingDeadlock>(*third).to_text());
  EXPECT_THAT(report.detail, HasSubstr("rank 0 waits at barrier 'a' of rows at "));
  EXPECT_THAT(report.detail, HasSubstr("for rank 1"));
  EXPECT_THAT(report.detail, HasSubstr("ranks 1, 2 wait at barrier 'b' of columns at "));
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_THAT(report.missing[0].waiting_at, HasSubstr("barrier 'b' of columns at "));
}

TEST(ADeadlock, IsNoneWhileSomebodyMayStillCome) {
  const Served served(3);
  const auto members = served.join_all();
  const auto first = members[0]->arrive(in_group("rows", {0, 1}, "barrier 'a'"));
  const auto second = members[1]->arrive(in_group("columns", {1, 2}, "barrier 'b'"));
  // Long enough for two looks at it.
  EXPECT_THROW(members[2]->get("never", deadline_after(milliseconds(400))), DeadlineExceeded);
  members[2]->arrive(in_group("columns", {1, 2}, "barrier 'b'"))->wait();
  second->wait();
  members[1]->arrive(in_group("rows", {0, 1}, "barrier 'a'"))->wait();
  first->wait();
}

TEST(ADeadlock, IsFoundAmongThoseThatWaitElsewhere) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  std::mutex mutex;
  std::condition_variable told;
  std::optional<MeetingReport> stuck;
  one->on_deadlock([&](const MeetingReport& report) {
    const std::lock_guard lock(mutex);
    stuck = report;
    told.notify_all();
  });
  const auto here = zero->arrive(in_group("sockets", {0, 1}, "barrier 'a'"));
  one->waits_at(in_group("memory", {0, 1}, "barrier 'b'"));
  EXPECT_THAT(report_of<MeetingDeadlock>(*here).detail, HasSubstr("barrier 'b' of memory at "));
  std::unique_lock lock(mutex);
  told.wait(lock, [&] { return stuck.has_value(); });
  EXPECT_EQ(stuck->cause, MeetingReport::Cause::deadlock);
  EXPECT_EQ(stuck->group, "memory");
  EXPECT_EQ(stuck->what, "barrier 'b'");
}

TEST(ADeadlock, IsNoneOnceTheWaitElsewhereHasEnded) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto here = zero->arrive(in_group("sockets", {0, 1}, "barrier 'a'"));
  const Meeting elsewhere = in_group("memory", {0, 1}, "barrier 'b'");
  one->waits_at(elsewhere);
  one->waits_no_more(elsewhere);
  EXPECT_THROW(one->get("never", deadline_after(milliseconds(400))), DeadlineExceeded);
  one->arrive(in_group("sockets", {0, 1}, "barrier 'a'"))->wait();
  here->wait();
}

}  // namespace
}  // namespace tutti
