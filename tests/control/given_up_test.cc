// A member that gave up, because no answer came by its deadline, and tries again: whether or not the coordinator had counted it.
#include <gtest/gtest.h>

#include <poll.h>

#include <csignal>
#include <memory>
#include <string>

#include "control/processes.h"
#include "control/raw_connection.h"

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

TEST_F(AMeetingGivenUp, CanBeGivenUpAgain) {
  const auto first = arrive_before_others(*zero, later("barrier 'a'"));
  give_up("barrier 'a'");
  give_up("barrier 'a'");
  go_on();
  first->wait();
  one->arrive(later("barrier 'a'"))->wait();
  meet("barrier 'b'");
}

TEST(AnArrival, ThatComesWhenItHasBeenGivenUpOpensNoMeeting) {
  const Served served(2);
  const auto zero = served.join(0);
  RawConnection one(served.address());
  one.take_seat(secret_of_tests, 1, 2);
  one.say_sealed(control::message(control::Request::arrive, [](wire::FieldWriter& out) {
    control::Call{"world", {0, 1}, "barrier 'a'", ""}.append_to(out.u64(7));
    out.u8(0).i64(1'000'000'000).i64(1).u64(0).u64(0);  // long ago by the coordinator's clock
  }));
  const std::string answer = one.hear().value();
  wire::FieldReader in(answer);
  EXPECT_EQ(static_cast<control::Answer>(in.u8()), control::Answer::withdrawn);
  EXPECT_EQ(in.u64(), 7U);
  EXPECT_THROW(zero->arrive(meeting_of(2, "barrier 'b'", deadline_after(milliseconds(50))))->wait(), BarrierTimeout);
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
