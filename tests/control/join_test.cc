#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "control/served.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class Failure>
std::string why_not(const Membership& who, const MemberOptions& options = {}) {
  try {
    Member::join(who, options);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "joined";
}

TEST(Joining, UnderATakenRankIsRefusedNamingItsHolder) {
  const Served served(2);
  const auto zero = served.join(0);
  std::string host(256, '\0');
  gethostname(host.data(), host.size());
  host.resize(host.find('\0'));
  EXPECT_THAT(why_not<JoinRefused>(served.who(0)),
              HasSubstr(text("refused this process: rank 0 is already taken by (", host, ", pid ", getpid(), ")")));
}

TEST(Joining, WithAnotherWorldIsRefusedWithBothNumbers) {
  const Served served(2);
  Membership who = served.who(1);
  who.world = 5;
  EXPECT_THAT(why_not<JoinRefused>(who), HasSubstr("rank 1 says that the world has 5 members, the coordinator says 2"));
}

TEST(Joining, AnotherJobIsRefusedWithBothNames) {
  const Served served(2);
  Membership who = served.who(1);
  who.job = "yesterday's";
  EXPECT_THAT(why_not<JoinRefused>(who), HasSubstr("this is job 'test', not 'yesterday's'"));
}

TEST(Joining, WithAnotherSecretIsRefusedWithoutDetail) {
  const Served served(2);
  Membership who = served.who(1);
  who.secret = "a secret of others, unknown here";
  const std::string why = why_not<JoinRefused>(who);
  EXPECT_THAT(why, HasSubstr("TUTTI_JOB_SECRET"));
  EXPECT_THAT(why, Not(HasSubstr("of others")));
}

TEST(Joining, WhereNobodyListensEndsAtTheDeadline) {
  std::string address;
  {
    const Served served(1);
    address = served.address();
  }
  Membership who;
  who.coordinator = address;
  who.secret = secret_of_tests;
  MemberOptions options;
  options.connect_timeout = milliseconds(120);
  const auto begin = Clock::now();
  EXPECT_THAT(why_not<DeadlineExceeded>(who, options), HasSubstr(text("cannot join the job at ", address, ": ")));
  EXPECT_LT(Clock::now() - begin, milliseconds(120) + slack);
}

TEST(Joining, WithTheLongestTimeoutThereIsNeverGivesUp) {
  const Served served(1);
  MemberOptions patient;
  patient.connect_timeout = milliseconds::max();
  EXPECT_EQ(why_not<DeadlineExceeded>(served.who(0), patient), "joined");
}

TEST(Joining, ThatTakesLongSaysSo) {
  Membership who;
  {
    const Served served(1);
    who.coordinator = served.address();
  }
  who.secret = secret_of_tests;
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  MemberOptions options;
  options.connect_timeout = milliseconds(200);
  options.log_every = milliseconds(20);
  EXPECT_THAT(why_not<DeadlineExceeded>(who, options), HasSubstr("Connection refused; does its coordinator run there?"));
  set_log_sink({});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], text("rank 0 still tries to reach the coordinator at ", who.coordinator, ": Connection refused"));
}

TEST(Joining, NeedsAnAddressASecretAndARankThatCanBe) {
  Membership who;
  who.secret = secret_of_tests;
  for (const std::string address : {"", "nothing", "host:", "host:70000", "::1:80", "host:8o"}) {
    who.coordinator = address;
    EXPECT_THAT(why_not<InvalidArgument>(who), HasSubstr("host:port or [v6]:port is expected")) << address;
  }
  who.coordinator = "127.0.0.1:1";
  who.secret = {};
  EXPECT_THAT(why_not<InvalidArgument>(who), HasSubstr("TUTTI_JOB_SECRET"));
  for (const std::string easy : {"fifteen letters", "aaaaaaaabbbbbbbb", "1212121212121212", "passwordpassword",
                                 "0123456789abcdef", "qwertyuiopasdfgh", "1qaz2wsx3edc4rfv5tgb", "PassWord!PassWord!PassWord!"}) {
    who.secret = easy;
    EXPECT_THAT(why_not<InvalidArgument>(who), HasSubstr("`openssl rand -hex 16`")) << easy;
  }
  who.secret = secret_of_tests;
  who.rank = 1;
  EXPECT_THAT(why_not<InvalidArgument>(who), HasSubstr("rank 1 is not in a world of 1"));
}

TEST(Joining, AgainAfterALeaveIsWelcome) {
  const Served served(2);
  MemberOptions options;
  options.comes_back = true;
  const auto zero = served.join(0);
  for (int round = 0; round < 5; ++round) {
    const auto here = arrive_before_others(*zero, meeting_of(2, text("barrier ", round)));
    served.join(1, options)->arrive(meeting_of(2, text("barrier ", round)))->wait();
    here->wait();
  }
}

TEST(ACoordinator, NeedsASecretAWorldAndAFreePort) {
  CoordinatorOptions options;
  EXPECT_THROW(Coordinator::open(options), InvalidArgument);
  options.secret = secret_of_tests;
  options.world = 0;
  EXPECT_THROW(Coordinator::open(options), InvalidArgument);
  options.world = 1;
  const auto first = Coordinator::open(options);
  options.listen = first->address();
  try {
    Coordinator::open(options);
    FAIL() << "two listen at one port";
  } catch (const InvalidState& error) {
    EXPECT_THAT(error.what(), HasSubstr(text("cannot listen on ", first->address(), ": Address already in use")));
  }
}

TEST(ACoordinator, EndsByItselfWhenAllHaveComeAndGone) {
  CoordinatorOptions options;
  options.linger = milliseconds(20);
  Served served(2, options);
  { const auto members = served.join_all(); }
  served.wait_for_end();
}

TEST(ACoordinator, WaitsForWhoHasNotComeYet) {
  CoordinatorOptions options;
  options.linger = milliseconds(0);
  Served served(2, options);
  served.join(0).reset();
  served.join(1).reset();
  served.wait_for_end();
}

TEST(ACoordinator, GivesUpWhereNobodyComes) {
  CoordinatorOptions options;
  options.idle_limit = milliseconds(20);
  Served(2, options).wait_for_end();
  options.idle_limit = milliseconds(60'000);
  options.linger = milliseconds(0);
  options.absent_limit = milliseconds(20);
  Served served(2, options);
  served.join(0).reset();
  served.wait_for_end();
}

}  // namespace
}  // namespace tutti
