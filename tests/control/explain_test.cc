#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "control/served.h"
#include "tutti/mesh/control/messages.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using Cause = MeetingReport::Cause;
using Why = MissingMember::Why;

TEST(AnExplanation, IsTheSameForAllWhoAskAboutOneFailure) {
  const Served served(4);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto two = served.join(2);
  const Meeting meeting = meeting_of(4, "barrier 'x'");
  two->waits_at(meeting_of(4, "barrier 'y'"));
  two->put("told", "");
  const MeetingReport first =
      zero->explain(meeting, {.attempt = 7, .arrived = {0, 1}, .draining = {1}, .waited = milliseconds(300)});
  // Its own view of who came is another; the first one counts.
  const MeetingReport second =
      one->explain(meeting, {.attempt = 7, .cause = Cause::member_lost, .arrived = {1}, .detail = "other"});
  EXPECT_EQ(first.waited, milliseconds(300));
  EXPECT_EQ(first.to_text(), second.to_text());
  EXPECT_EQ(second.cause, Cause::timed_out);
  EXPECT_EQ(first.arrived, 2);
  EXPECT_EQ(first.expected, 4);
  ASSERT_EQ(first.missing.size(), 3U);
  EXPECT_EQ(first.missing[0].rank, 3);
  EXPECT_EQ(first.missing[0].why, Why::never_connected);
  EXPECT_EQ(first.missing[1].rank, 2);
  EXPECT_THAT(first.missing[1].waiting_at, HasSubstr("barrier 'y' of world at "));
  EXPECT_EQ(first.missing[2].rank, 1);
  EXPECT_EQ(first.missing[2].why, Why::draining);
  EXPECT_EQ(one->explain(meeting, {.attempt = 8, .cause = Cause::member_lost, .arrived = {1}}).arrived, 1);
}

TEST(AnExplanation, IsNotThatOfAnEarlierProcessWithTheSameRank) {
  const Served served(2);
  const auto zero = served.join(0);
  const Meeting meeting = meeting_of(2, "barrier 'x'");
  auto one = served.join(1);
  EXPECT_EQ(one->explain(meeting, {.attempt = 1, .arrived = {1}}).cause, Cause::timed_out);
  one.reset();
  one = served.join(1);
  EXPECT_EQ(one->explain(meeting, {.attempt = 1, .cause = Cause::mismatch, .arrived = {0, 1}}).cause, Cause::mismatch);
}

// Two meetings held elsewhere, each of which waits for who is at the other.
class ACircleElsewhere : public testing::Test {
 protected:
  ACircleElsewhere() {
    zero->on_deadlock([this](const MeetingReport& report) { told.set_value(report); });
    zero->waits_at(at_zero);
    one->waits_at(at_one);
  }
  static Meeting elsewhere(const std::string& group, const std::string& what) {
    Meeting meeting = meeting_of(2, what);
    meeting.group = group;
    return meeting;
  }

  Served served{2};
  std::shared_ptr<Member> zero = served.join(0);
  std::shared_ptr<Member> one = served.join(1);
  Meeting at_zero = elsewhere("rows", "barrier 'a'");
  Meeting at_one = elsewhere("columns", "barrier 'b'");
  std::promise<MeetingReport> told;
};

TEST_F(ACircleElsewhere, IsTheReasonAlsoForWhoSawItsMeetingEndBeforeItHeardOfIt) {
  const MeetingReport heard = told.get_future().get();
  EXPECT_EQ(heard.cause, Cause::deadlock);
  for (const auto& [member, meeting] : {std::pair(zero, at_zero), std::pair(one, at_one)}) {
    const MeetingReport report =
        member->explain(meeting, {.attempt = 3, .cause = Cause::member_lost, .arrived = {member->who().rank}});
    EXPECT_EQ(report.cause, Cause::deadlock) << report.to_text();
    EXPECT_EQ(report.detail, heard.detail);
  }
}

TEST_F(ACircleElsewhere, IsNoReasonForWhatFollowsIt) {
  told.get_future().wait();
  zero->explain(at_zero, {.attempt = 3, .cause = Cause::member_lost, .arrived = {0}});
  zero->waits_no_more(at_zero);
  one->waits_no_more(at_one);
  one->put("told", "");
  EXPECT_EQ(zero->explain(at_zero, {.attempt = 3, .cause = Cause::member_lost, .arrived = {0}}).cause, Cause::deadlock);
  EXPECT_EQ(zero->explain(at_zero, {.attempt = 4, .cause = Cause::member_lost, .arrived = {0}}).cause, Cause::member_lost);
  EXPECT_EQ(one->explain(at_one, {.attempt = 4, .cause = Cause::member_lost, .arrived = {1}}).cause, Cause::member_lost);
}

TEST(AReport, ReadsWellAtEightyColumns) {
  MeetingReport report;
  report.what = "barrier 'before exit'";
  report.group = "world";
  report.arrived = 1;
  report.expected = 4;
  report.waited = milliseconds(500);
  MissingMember died;
  died.rank = 2;
  died.why = Why::died;
  died.host = "host-a";
  died.pid = 4711;
  died.last_heard = milliseconds(120);
  died.doing = "MatMul at train.cc:31";
  MissingMember never;
  never.rank = 3;
  never.why = Why::never_connected;
  MissingMember away = died;
  away.rank = 1;
  away.why = Why::not_arrived;
  away.waiting_at = "barrier 'y' of rows at train.cc:40";
  report.missing = {died, never, away};
  EXPECT_EQ(report.to_text(),
            "barrier 'before exit' of world: 1 of 4 came within 500 ms; missing:\n"
            "  rank 2 (host-a, pid 4711): died 120 ms ago; last doing MatMul at train.cc:31\n"
            "  rank 3: never connected\n"
            "  rank 1 (host-a, pid 4711): not arrived, last heard of 120 ms ago; last doing\n"
            "  MatMul at train.cc:31; waits at barrier 'y' of rows at train.cc:40 instead");
}

TEST(AReport, OfImpossibleTimesIsReadAsAYear) {
  MeetingReport report;
  report.what = "barrier";
  report.group = "world";
  report.waited = milliseconds::max();
  report.missing.emplace_back().last_heard = milliseconds::min();
  std::string bytes;
  wire::FieldWriter out(bytes);
  control::append_report(out, report);
  wire::FieldReader in(bytes);
  const MeetingReport read = control::read_report(in);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(read.waited, std::chrono::hours(365 * 24));
  EXPECT_EQ(read.missing.at(0).last_heard, milliseconds(0));
}

TEST(AReport, PrintsNoControlCharactersOfOthers) {
  MeetingReport report;
  report.what = "barrier '\x1b[2J'";
  report.group = "world";
  report.detail = "line\x07 one\nline two";
  report.cause = Cause::mismatch;
  const std::string text = report.to_text();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("\n  line two"));
}

}  // namespace
}  // namespace tutti
