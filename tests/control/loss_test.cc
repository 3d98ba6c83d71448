#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "control/served.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Why = MissingMember::Why;

TEST(WhoHasLeft, IsNotAwaitedAnyLonger) {
  const Served served(2);
  const auto zero = served.join(0);
  auto one = served.join(1);
  const auto before = arrive_before_others(*zero, meeting_of(2, "barrier"));
  one.reset();
  const MeetingReport report = report_of<MemberLost>(*before);
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_EQ(report.missing[0].why, Why::left);
  const auto after = zero->arrive(meeting_of(2, "barrier"));
  EXPECT_EQ(report_of<MemberLost>(*after).missing[0].why, Why::left);
}

TEST(WhoComesBack, IsAwaited) {
  const Served served(2);
  const auto zero = served.join(0);
  MemberOptions options;
  options.comes_back = true;
  auto one = served.join(1, options);
  one.reset();
  const auto report = report_of<BarrierTimeout>(*zero->arrive(meeting_of(2, "barrier", deadline_after(milliseconds(50)))));
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_EQ(report.missing[0].why, Why::left);
}

TEST(AnAbort, FailsEverybodysPendingAndLaterCalls) {
  const Served served(3);
  const auto members = served.join_all();
  const auto waiting = members[0]->arrive(meeting_of(3, "barrier"));
  std::string got;
  std::thread asks([&] {
    try {
      members[1]->get("never", std::nullopt);
    } catch (const JobAborted& error) {
      got = error.report.detail;
    }
  });
  std::mutex mutex;
  std::vector<std::string> heard;
  members[1]->on_loss([&](int rank, const std::string& why, std::uint64_t /*ended*/) {
    const std::lock_guard lock(mutex);
    heard.push_back(text(rank, ": ", why));
  });
  members[2]->abort("the loss is not a number");
  asks.join();
  EXPECT_THAT(got, StartsWith("rank 2 ("));
  EXPECT_THAT(got, HasSubstr("the loss is not a number"));
  try {
    waiting->wait();
    FAIL() << "the meeting took place";
  } catch (const JobAborted& error) {
    EXPECT_EQ(error.report.detail, got);
    EXPECT_THAT(error.what(), StartsWith("the job was aborted:\n  rank 2 ("));
  }
  EXPECT_THROW(members[2]->put("key", "value"), JobAborted);
  EXPECT_THROW(members[0]->arrive(meeting_of(3, "barrier")), JobAborted);
  for (;;) {
    const std::lock_guard lock(mutex);
    if (heard.empty()) continue;
    EXPECT_THAT(heard.at(0), StartsWith("-1: rank 2 ("));
    break;
  }
}

TEST(AnAbort, RefusesWhoComesLater) {
  const Served served(2);
  served.join(0)->abort("enough");
  try {
    Member::join(served.who(1), {});
    FAIL() << "joined";
  } catch (const JoinRefused& error) {
    EXPECT_THAT(error.what(), HasSubstr("the job was aborted: rank 0"));
    EXPECT_THAT(error.what(), HasSubstr("enough"));
  }
}

TEST(ALostCoordinator, IsKnownAtOnceByItsAddress) {
  Served served(2);
  const auto zero = served.join(0);
  const std::string address = served.address();
  const auto waiting = zero->arrive(meeting_of(2, "barrier"));
  std::thread ends([&] { served.kill(); });
  try {
    waiting->wait();
    FAIL() << "the meeting took place";
  } catch (const CoordinatorLost& error) {
    EXPECT_THAT(error.what(), HasSubstr(text("the coordinator at ", address, " is lost: ")));
    EXPECT_THAT(error.what(), HasSubstr(" ms ago"));
  }
  ends.join();
  EXPECT_THROW(zero->put("key", "value"), CoordinatorLost);
  EXPECT_THROW(zero->get("key", std::nullopt), CoordinatorLost);
  EXPECT_THROW(zero->arrive(meeting_of(2, "barrier")), CoordinatorLost);
  zero->on_loss([](int, const std::string&, std::uint64_t) {});
}

TEST(ALongWait, IsLoggedWithWhoIsMissing) {
  std::mutex mutex;
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  });
  const Served served(2);
  MemberOptions options;
  options.log_every = milliseconds(10);
  const auto zero = served.join(0, options);
  const auto one = served.join(1);
  const auto waiting = zero->arrive(meeting_of(2, "barrier 'x'"));
  std::thread waits([&] { waiting->wait(); });
  for (bool enough = false; !enough;) {
    const std::lock_guard lock(mutex);
    enough = lines.size() >= 2;
  }
  one->arrive(meeting_of(2, "barrier 'x'"))->wait();
  waits.join();
  set_log_sink({});
  EXPECT_THAT(lines[0], StartsWith("still waiting at barrier 'x' of world: 1 of 2 came within "));
  EXPECT_THAT(lines[0], HasSubstr("rank 1 ("));
  EXPECT_THAT(lines[0], HasSubstr("not arrived"));
}

}  // namespace
}  // namespace tutti
