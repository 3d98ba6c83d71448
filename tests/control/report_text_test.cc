// What a report says of many members: who is missing apart from who came, and long lists in few lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "tutti/base/text.h"
#include "tutti/mesh/control/meeting.h"
#include "tutti/mesh/control/messages.h"

namespace tutti {
namespace {

using std::chrono::milliseconds;
using Cause = MeetingReport::Cause;
using Why = MissingMember::Why;

MeetingReport report_of_timeout(int arrived, int expected) {
  MeetingReport report;
  report.what = "barrier 'save'";
  report.group = "world";
  report.arrived = arrived;
  report.expected = expected;
  report.waited = milliseconds(500);
  return report;
}

MissingMember member(int rank, Why why) {
  MissingMember out;
  out.rank = rank;
  out.why = why;
  if (why == Why::never_connected) return out;
  out.host = "node1";
  out.pid = 1'000 + rank;
  out.last_heard = milliseconds(20);
  return out;
}

TEST(AReport, TellsWhoCameAndStillDrainsApartFromWhoIsMissing) {
  MeetingReport report = report_of_timeout(2, 3);
  report.cause = Cause::member_lost;
  report.missing = {member(1, Why::died), member(0, Why::draining), member(2, Why::draining)};
  report.missing[2].doing = "MatMul at train.cc:52";
  EXPECT_EQ(report.to_text(),
            "barrier 'save' of world: 2 of 3 came, and a member is lost; missing:\n"
            "  rank 1 (node1, pid 1001): died 20 ms ago\n"
            "came, not drained:\n"
            "  rank 0 (node1, pid 1000): its devices still work\n"
            "  rank 2 (node1, pid 1002): its devices still work; last doing MatMul at\n"
            "  train.cc:52");
  report.cause = Cause::timed_out;
  report.arrived = 3;
  report.missing = {member(0, Why::draining)};
  EXPECT_EQ(report.to_text(),
            "barrier 'save' of world: 3 of 3 came within 500 ms; not drained:\n"
            "  rank 0 (node1, pid 1000): its devices still work");
}

TEST(AReport, TellsOfAllWhoNeverConnectedInOneLine) {
  MeetingReport report = report_of_timeout(3, 4'096);
  report.missing.push_back(member(7, Why::died));
  for (int rank = 12; rank <= 4'090; ++rank) report.missing.push_back(member(rank, Why::never_connected));
  report.missing.push_back(member(4'092, Why::never_connected));
  EXPECT_EQ(report.to_text(),
            "barrier 'save' of world: 3 of 4096 came within 500 ms; missing:\n"
            "  rank 7 (node1, pid 1007): died 20 ms ago\n"
            "  ranks 12-4090, 4092: never connected");
}

TEST(AReport, OfThousandsIsShortOnItsWayAndTellsOfAll) {
  MeetingReport report = report_of_timeout(0, 4'096);
  for (int rank = 0; rank < 10; ++rank) report.missing.push_back(member(rank, Why::died));
  for (int rank = 10; rank < 20; ++rank) report.missing.push_back(member(rank, Why::never_connected));
  for (int rank = 20; rank < 4'096; ++rank) report.missing.push_back(member(rank, Why::not_arrived));
  std::string bytes;
  wire::FieldWriter out(bytes);
  control::append_report(out, report);
  EXPECT_LT(bytes.size(), 8'000U);
  wire::FieldReader in(bytes);
  const MeetingReport read = control::read_report(in);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(read.to_text(), report.to_text());
  ASSERT_EQ(read.missing.size(), report.missing.size());
  for (std::size_t i = 0; i < read.missing.size(); ++i) {
    EXPECT_EQ(read.missing[i].rank, report.missing[i].rank);
    EXPECT_EQ(read.missing[i].why, report.missing[i].why);
  }
  EXPECT_EQ(read.missing[25].pid, 1'025);
}

TEST(AReport, OfThousandsHasAFewLinesOfEightyColumns) {
  MeetingReport report = report_of_timeout(0, 4'096);
  for (int rank = 0; rank < 10; ++rank) report.missing.push_back(member(rank, Why::died));
  for (int rank = 10; rank < 4'000; ++rank) report.missing.push_back(member(rank, Why::not_arrived));
  for (int rank = 4'001; rank < 4'096; rank += 2) report.missing.push_back(member(rank, Why::draining));
  const std::string said = report.to_text();
  EXPECT_THAT(said, testing::HasSubstr("\n  rank 9 (node1, pid 1009): died 20 ms ago\n"));
  EXPECT_THAT(said, testing::HasSubstr("\n  rank 15 (node1, pid 1015): not arrived, last heard of 20 ms ago\n"
                                       "  ranks 16-3999: not arrived\n"
                                       "came, not drained:\n"
                                       "  ranks 4001, 4003, "));
  EXPECT_THAT(said, testing::HasSubstr("4031 and 32 more: devices still work"));
  std::istringstream lines(said);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_LE(count, 24);
}

}  // namespace
}  // namespace tutti
