// A member that gave up, because no answer came by its deadline, and tries again: whether or not the coordinator had counted it.
#include <gtest/gtest.h>

#include <poll.h>

#include <csignal>
#include <memory>
#include <string>

#include "control/processes.h"

namespace tutti {
namespace {

class AMeetingGivenUp : public testing::Test {
 protected:
  static Meeting soon(const std::string& what) { return meeting_of(2, what, deadline_after(milliseconds(50))); }
  static Meeting later(const std::string& what) { return meeting_of(2, what, deadline_after(milliseconds(20'000))); }

  // The coordinator stands still until after the deadline, and hears of it then.
  void give_up(const std::string& what) {
    job.coordinator().signal(SIGSTOP);
    EXPECT_THROW(one->arrive(soon(what))->wait(), CoordinatorLost);
  }
  void go_on() { job.coordinator().signal(SIGCONT); }
  void meet(const std::string& what) {
    const auto first = zero->arrive(later(what));
    one->arrive(later(what))->wait();
    first->wait();
  }

  Job job{2, milliseconds(60'000)};
  std::shared_ptr<Member> zero = Member::join(job.who(0), patient());
  std::shared_ptr<Member> one = Member::join(job.who(1), patient());

 private:
  static MemberOptions patient() {
    MemberOptions options;
    options.dead_after = milliseconds(60'000);
    return options;
  }
};

TEST_F(AMeetingGivenUp, IsPassedByTheNextTryWhereTheOthersHavePassedIt) {
  const auto first = arrive_before_others(*zero, later("barrier 'a'"));
  give_up("barrier 'a'");
  go_on();
  first->wait();  // it came late and was counted
  const auto again = one->arrive(later("barrier 'a'"));
  again->wait();
  EXPECT_THROW(again->wait(), InvalidState);
  meet("barrier 'b'");
}

TEST_F(AMeetingGivenUp, IsPassedByTheNextTryThatDrains) {
  const auto first = arrive_before_others(*zero, later("barrier 'a'"));
  give_up("barrier 'a'");
  go_on();
  first->wait();
  Meeting draining = later("barrier 'a'");
  draining.drains = true;
  const auto again = one->arrive(draining);
  again->ready();
  again->wait();
  meet("barrier 'b'");
}

TEST_F(AMeetingGivenUp, WaitsForTheOthersWhereTheyHaveNotCome) {
  give_up("barrier 'a'");
  go_on();
  const auto again = arrive_before_others(*one, later("barrier 'a'"));
  zero->arrive(later("barrier 'a'"))->wait();
  again->wait();
  meet("barrier 'b'");
}

TEST_F(AMeetingGivenUp, IsNotTakenForAnotherThatFollows) {
  const auto first = arrive_before_others(*zero, later("barrier 'a'"));
  give_up("barrier 'a'");
  go_on();
  first->wait();
  EXPECT_THROW(one->arrive(soon("barrier 'b'"))->wait(), BarrierTimeout);
  meet("barrier 'b'");
}

TEST_F(AMeetingGivenUp, DisagreesWithNothingThatTheOthersAreAtMeanwhile) {
  const auto waiting = arrive_before_others(*zero, later("barrier 'b'"));
  give_up("barrier 'a'");
  go_on();
  one->arrive(later("barrier 'b'"))->wait();
  waiting->wait();
  meet("barrier 'c'");
}

TEST_F(AMeetingGivenUp, OpensNothingThatTheOthersWouldDisagreeWith) {
  give_up("barrier 'a'");
  go_on();
  one->put("what was given up has come by now", "");
  const auto next = arrive_before_others(*zero, later("barrier 'b'"));
  one->arrive(later("barrier 'b'"))->wait();
  next->wait();
}

TEST_F(AMeetingGivenUp, CanBeGivenUpAgain) {
  const auto first = arrive_before_others(*zero, later("barrier 'a'"));
  give_up("barrier 'a'");
  give_up("barrier 'a'");
  go_on();
  first->wait();
  one->arrive(later("barrier 'a'"))->wait();
  meet("barrier 'b'");
}

TEST(AMember, ThatWasStoppedBeyondItsDeadlineReadsWhatItWasToldMeanwhile) {
  const Job job(2, milliseconds(60'000));
  Process one([&](const Process::Talk& talk) {
    MemberOptions options;
    options.dead_after = milliseconds(60'000);
    const auto member = Member::join(job.who(1), options);
    const auto arrival = arrive_before_others(*member, meeting_of(2, "barrier", deadline_after(milliseconds(300))));
    talk.say("came");
    try {
      arrival->wait();
    } catch (const BarrierTimeout&) {
      talk.say("was told");
    }
  });
  EXPECT_EQ(one.line(), "came");
  one.signal(SIGSTOP);
  poll(nullptr, 0, 1'300);  // longer than it would wait for an answer
  one.signal(SIGCONT);
  EXPECT_EQ(one.line(), "was told");
}

}  // namespace
}  // namespace tutti
