// From what a launcher said to a seat at the coordinator that rank 0 starts.
#include "tutti/mesh/control/join_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <exception>
#include <future>
#include <iostream>
#include <string>
#include <thread>

#include "launch/started_coordinators.h"
#include "tutti/base/error.h"

namespace {

using launch_tests::JobFolder;
using std::chrono::milliseconds;
using testing::HasSubstr;
using tutti::join_job;
using tutti::Meeting;
using tutti::Member;
using tutti::MemberOptions;
using tutti::Membership;

class JoinJob : public testing::Test {
 protected:
  static Membership who(int rank) {
    Membership who;
    who.rank = rank;
    who.world = 2;
    who.job = "join job test";
    who.launcher = "a test";
    who.rank_0_starts_coordinator = true;
    who.one_host = true;
    return who;
  }

  static void meet(Member& member) {
    Meeting meeting;
    meeting.group = "both";
    meeting.ranks = {0, 1};
    meeting.what = "a meeting";
    meeting.deadline = tutti::deadline_after(std::chrono::seconds(60));
    member.arrive(meeting)->wait();
  }

  static void join_and_meet(int rank) {
    MemberOptions options;
    options.comes_back = true;
    meet(*join_job(who(rank), options));
  }

  JobFolder jobs_;
};

TEST_F(JoinJob, RanksMeetAtTheCoordinatorThatRank0StartsWhoeverComesFirst) {
  for (const int first : {0, 1}) {
    auto other = std::async(std::launch::async, [first] { join_and_meet(first); });
    join_and_meet(1 - first);
    other.get();
    EXPECT_EQ(jobs_.coordinators().size(), 1U) << "rank 0 that comes again finds the one it has started";
  }
}

TEST_F(JoinJob, NothingIsLeftWhenAllHaveGone) {
  {
    auto other = std::async(std::launch::async, [] { return join_job(who(1), {}); });
    const auto first = join_job(who(0), {});
    const auto second = other.get();
    EXPECT_FALSE(jobs_.is_empty());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!jobs_.is_empty() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(jobs_.is_empty());
}

TEST_F(JoinJob, ACoordinatorThatWasKilledIsNotTakenForALivingOne) {
  auto before = std::async(std::launch::async, [] { join_and_meet(1); });
  join_and_meet(0);
  before.get();
  for (const pid_t pid : jobs_.coordinators()) ::kill(pid, SIGKILL);
  EXPECT_FALSE(jobs_.is_empty()) << "it could not take its note away";
  auto after = std::async(std::launch::async, [] { join_and_meet(1); });
  join_and_meet(0);
  after.get();
}

TEST_F(JoinJob, TheCoordinatorOutlivesRank0AndTellsOfItsDeath) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t test = ::getpid();
  const pid_t first = ::fork();
  ASSERT_GE(first, 0);
  if (first == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != test) ::_exit(1);
    try {
      const auto member = join_job(who(0), {});
      if (::write(ends[1], "x", 1) == 1) ::pause();
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
    }
    ::_exit(1);
  }
  ::close(ends[1]);
  char byte = 0;
  const bool has_joined = ::read(ends[0], &byte, 1) == 1;
  ::close(ends[0]);
  EXPECT_TRUE(has_joined);
  const auto second = has_joined ? join_job(who(1), {}) : nullptr;
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  ASSERT_TRUE(has_joined);
  try {
    meet(*second);
    ADD_FAILURE() << "met a dead rank";
  } catch (const tutti::MemberLost& lost) {
    ASSERT_EQ(lost.report.missing.size(), 1U);
    EXPECT_EQ(lost.report.missing[0].rank, 0);
    EXPECT_EQ(lost.report.missing[0].pid, first);
    EXPECT_EQ(lost.report.missing[0].why, tutti::MissingMember::Why::died);
  }
}

TEST_F(JoinJob, TheCoordinatorEndsWhenTheLauncherIsKilledAndItsRanksWithIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const auto forked = [](const auto& work) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) work();
    ::_exit(1);
  };
  const pid_t launcher = forked([&] {
    for (const int rank : {0, 1}) {
      forked([&, rank] {
        const auto member = join_job(who(rank), {});
        if (::write(ends[1], "x", 1) == 1) ::pause();
      });
    }
    ::pause();
  });
  ASSERT_GE(launcher, 0);
  ::close(ends[1]);
  char byte = 0;
  for (int joined = 0; joined < 2; ++joined) EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(jobs_.coordinators().size(), 1U);
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the ranks are dead";
  ::close(ends[0]);
  EXPECT_TRUE(jobs_.all_end_within(std::chrono::seconds(20)));
  EXPECT_TRUE(jobs_.is_empty());
}

TEST_F(JoinJob, ARank0ThatDoesNotComeIsNamedAtTheDeadline) {
  MemberOptions options;
  options.connect_timeout = milliseconds(100);
  const auto began = std::chrono::steady_clock::now();
  try {
    join_job(who(1), options);
    ADD_FAILURE() << "joined nobody";
  } catch (const tutti::DeadlineExceeded& error) {
    EXPECT_THAT(error.message(), HasSubstr("rank 1 of 2 (a test) has waited for 100 ms and rank 0 has not said"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(1'100));
}

TEST_F(JoinJob, AProcessThatIsAloneHasNoJob) { EXPECT_THROW(join_job(Membership{}, {}), tutti::InvalidArgument); }

}  // namespace
