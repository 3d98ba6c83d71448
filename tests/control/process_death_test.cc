#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

#include "control/processes.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Says what the meeting ended with, and how many milliseconds it took.
void meet(Member& member, const Process::Talk& talk, const Meeting& meeting, bool says_when_known = false) {
  const auto begin = Clock::now();
  std::string ended = "met";
  try {
    const auto arrival = member.arrive(meeting);
    if (says_when_known) {
      member.put("arrived", "");
      talk.say("known");
    }
    arrival->wait();
  } catch (const MemberLost& error) {
    ended = text("lost\n", error.report.to_text());
  } catch (const BarrierTimeout& error) {
    ended = text("late\n", error.report.to_text());
  } catch (const CoordinatorLost& error) {
    ended = text("coordinator\n", error.message());
  }
  talk.say(ended);
  talk.say(text(std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count()));
}

Process member_that_meets(const Job& job, int rank, int world, std::optional<milliseconds> timeout = std::nullopt,
                          const MemberOptions& options = {}, bool says_when_known = false) {
  return Process([&](const Process::Talk& talk) {
    const auto member = Member::join(job.who(rank), options);
    talk.say("joined");
    talk.hear();
    meet(*member, talk, meeting_of(world, "barrier 'x'", deadline_after(timeout)), says_when_known);
    talk.hear();
  });
}

Process idle_member(const Job& job, int rank, const MemberOptions& options = {}) {
  return member_that_meets(job, rank, 2, milliseconds(20'000), options);
}

milliseconds time_of(Process& process) { return milliseconds(std::stol(process.line())); }

TEST(AKilledProcess, IsReportedAtOnceAndAlikeToAllSurvivors) {
  for (const int world : {2, 4, 8}) {
    const Job job(world);
    std::vector<Process> survivors;
    for (int rank = 0; rank + 1 < world; ++rank) {
      survivors.push_back(member_that_meets(job, rank, world, std::nullopt, {}, true));
    }
    MemberOptions options;
    options.doing = [] { return "MatMul at train.cc:31"; };
    Process victim = idle_member(job, world - 1, options);
    for (Process& survivor : survivors) ASSERT_EQ(survivor.line(), "joined");
    ASSERT_EQ(victim.line(), "joined");
    for (const Process& survivor : survivors) survivor.tell();
    for (Process& survivor : survivors) ASSERT_EQ(survivor.line(), "known");
    const auto begin = Clock::now();
    victim.signal(SIGKILL);
    const std::string report = survivors[0].line();
    EXPECT_THAT(report,
                StartsWith(text("lost\nbarrier 'x' of world: ", world - 1, " of ", world, " came, and a member is lost")));
    EXPECT_THAT(report, HasSubstr(text("rank ", world - 1, " (")));
    EXPECT_THAT(report, HasSubstr(text("pid ", victim.pid(), "): died ")));
    for (std::size_t i = 1; i < survivors.size(); ++i) EXPECT_EQ(survivors[i].line(), report);
    EXPECT_LT(Clock::now() - begin, slack);
  }
}

TEST(AStoppedProcess, IsMissingByTheDeadlineAndDeadAfterItsSilence) {
  const Job job(2, milliseconds(800));
  Process zero = member_that_meets(job, 0, 2, milliseconds(100));
  Process one = idle_member(job, 1);
  ASSERT_EQ(zero.line(), "joined");
  ASSERT_EQ(one.line(), "joined");
  one.signal(SIGSTOP);
  zero.tell();
  EXPECT_THAT(zero.line(), HasSubstr("not arrived, last heard of "));
  EXPECT_LT(time_of(zero), milliseconds(100) + slack);
  Process again = Process([&](const Process::Talk& talk) {
    // The seat is free once its silent holder is taken for dead.
    for (;;) {
      try {
        const auto member = Member::join(job.who(1), {});
        return talk.say("taken");
      } catch (const JoinRefused&) {}
    }
  });
  EXPECT_EQ(again.line(), "taken");
  one.signal(SIGCONT);
  one.tell();
  EXPECT_THAT(one.line(), StartsWith(text("coordinator\nthe coordinator at ", job.address(),
                                          " counts this process as dead: nothing was heard of it for ")));
}

TEST(AStoppedProcess, EndsAWaitWithoutADeadline) {
  const Job job(2, milliseconds(800));
  Process zero = member_that_meets(job, 0, 2);
  Process one = idle_member(job, 1);
  ASSERT_EQ(zero.line(), "joined");
  ASSERT_EQ(one.line(), "joined");
  one.signal(SIGSTOP);
  zero.tell();
  const std::string report = zero.line();
  EXPECT_THAT(report, StartsWith("lost\n"));
  EXPECT_THAT(report, HasSubstr("nothing was heard"));
  EXPECT_LT(time_of(zero), milliseconds(800) + slack);
}

TEST(AKilledCoordinator, IsKnownAtOnce) {
  const Job job(2);
  Process zero = member_that_meets(job, 0, 2);
  ASSERT_EQ(zero.line(), "joined");
  zero.tell();
  job.coordinator().signal(SIGKILL);
  EXPECT_THAT(zero.line(), StartsWith(text("coordinator\nthe coordinator at ", job.address(), " is lost: ")));
  EXPECT_LT(time_of(zero), slack);
}

TEST(AStoppedCoordinator, IsKnownByItsSilenceOrByTheDeadline) {
  const Job job(2);
  MemberOptions impatient;
  impatient.dead_after = milliseconds(200);
  Process zero = member_that_meets(job, 0, 2, std::nullopt, impatient);
  Process one = member_that_meets(job, 1, 2, milliseconds(50));
  ASSERT_EQ(zero.line(), "joined");
  ASSERT_EQ(one.line(), "joined");
  job.coordinator().signal(SIGSTOP);
  zero.tell();
  one.tell();
  EXPECT_THAT(zero.line(), HasSubstr("is lost: nothing was heard of it for "));
  EXPECT_LT(time_of(zero), milliseconds(200) + slack);
  EXPECT_THAT(one.line(), HasSubstr("did not answer by the deadline, last heard of "));
  EXPECT_LT(time_of(one), milliseconds(50) + slack);
}

TEST(AStoppedCoordinator, BlamesNobodyWhenItGoesOn) {
  const Job job(2, milliseconds(800));
  Process zero = member_that_meets(job, 0, 2);
  Process one = member_that_meets(job, 1, 2);
  ASSERT_EQ(zero.line(), "joined");
  ASSERT_EQ(one.line(), "joined");
  job.coordinator().signal(SIGSTOP);
  poll(nullptr, 0, 1'200);  // longer than it grants others
  zero.tell();
  one.tell();
  job.coordinator().signal(SIGCONT);
  EXPECT_EQ(zero.line(), "met");
  EXPECT_EQ(one.line(), "met");
}

TEST(ARestartedProcess, TakesItsRankAgainAndMeetsTheOthers) {
  const Job job(2);
  Process first = idle_member(job, 1);
  ASSERT_EQ(first.line(), "joined");
  Process zero = Process([&](const Process::Talk& talk) {
    const auto member = Member::join(job.who(0), {});
    member->on_loss(
        [&](int rank, const std::string& why, std::uint64_t /*ended*/) { talk.say(text("rank ", rank, " lost: ", why)); });
    talk.say("joined");
    talk.hear();
    meet(*member, talk, meeting_of(2, "barrier 'x'", deadline_after(milliseconds(100))));
    meet(*member, talk, meeting_of(2, "barrier 'x'", deadline_after(milliseconds(20'000))));
  });
  ASSERT_EQ(zero.line(), "joined");
  const int old = first.pid();
  first.signal(SIGKILL);
  first.reap();
  EXPECT_THAT(zero.line(), HasSubstr(text("pid ", old, ") died")));
  Process second = idle_member(job, 1);
  ASSERT_EQ(second.line(), "joined");
  zero.tell();
  EXPECT_THAT(zero.line(), HasSubstr("not arrived (restarted "));
  zero.line();
  second.tell();
  EXPECT_EQ(zero.line(), "met");
  EXPECT_EQ(second.line(), "met");
}

TEST(AForkedChild, IsNoMemberAndDoesNotHideItsParentsDeath) {
  const Job job(2);
  Process zero = member_that_meets(job, 0, 2);
  Process one = Process([&](const Process::Talk& talk) {
    auto member = Member::join(job.who(1), {});
    const pid_t child = fork();
    if (child == 0) {
      try {
        member->put("key", "value");
        talk.say("put");
      } catch (const InvalidState& error) {
        talk.say(error.message());
      }
      member.reset();
      talk.say("let go");
      talk.hear();
      _exit(0);
    }
    talk.hear();
  });
  ASSERT_EQ(zero.line(), "joined");
  EXPECT_THAT(one.line(), HasSubstr(text("was forked from a member (pid ", one.pid(), ")")));
  EXPECT_EQ(one.line(), "let go");
  zero.tell();
  one.signal(SIGKILL);
  EXPECT_THAT(zero.line(), HasSubstr("rank 1 ("));
  EXPECT_LT(time_of(zero), slack);
}

TEST(AProcess, ThatEndsWithoutALeaveHasDied) {
  const Job job(2);
  Process zero = member_that_meets(job, 0, 2);
  ASSERT_EQ(zero.line(), "joined");
  Process one = Process([&](const Process::Talk& talk) {
    const auto member = Member::join(job.who(1), {});
    talk.say("joined");
    _exit(0);
  });
  ASSERT_EQ(one.line(), "joined");
  one.reap();
  zero.tell();
  EXPECT_THAT(zero.line(), HasSubstr("died"));
}

}  // namespace
}  // namespace tutti
