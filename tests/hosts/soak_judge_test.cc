// The judge of the soak: it accuses where a report is false, and nobody for what was done to them.
#include "soak/judge.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <string>
#include <vector>

#include "soak/rank.h"
#include "tutti/mesh/control/meeting.h"

namespace tutti::soak {

namespace {

using Why = MissingMember::Why;

class SoakJudge : public testing::Test {
 protected:
  // All ranks were at the gathering of the first step; rank 0 was told there what the test says.
  Entry& told(Outcome outcome, std::vector<Missing> missing = {}) {
    Entry entry;
    entry.begin = start_ + 10s;
    entry.end = start_ + 11s;
    entry.outcome = outcome;
    entry.missing = std::move(missing);
    entry.text = "told";
    return entries_.emplace_back(entry);
  }
  void add_fault(Fault::Kind kind, int target, bool is_fatal) {
    faults_.push_back({.kind = kind,
                       .target = target,
                       .other = 0,
                       .begin = start_ + 9s,
                       .end = start_ + 12s,
                       .is_fatal = is_fatal,
                       .is_over = true});
  }
  // Of what was wrong, the one thing.
  std::string verdict() const {
    const std::vector<std::string> wrong = judged({plan_, entries_, faults_, exits_, starvations_, start_});
    std::string out;
    for (const std::string& each : wrong) out += (out.empty() ? "" : "; ") + each;
    return out;
  }
  static Missing missing(int rank, Why why) { return {rank, static_cast<int>(why)}; }

  Instant start_ = Instant() + 1h;
  Plan plan_{1, false};
  std::vector<Entry> entries_;
  std::vector<Fault> faults_;
  std::vector<Exit> exits_;
  std::vector<Starvation> starvations_;
};

}  // namespace

TEST_F(SoakJudge, BelievesADeathOfOneThatWasKilledAndOfNoOther) {
  told(Outcome::lost, {missing(1, Why::died)});
  EXPECT_NE(verdict().find("all members were well"), std::string::npos) << verdict();
  add_fault(Fault::Kind::kill, 1, true);
  EXPECT_EQ(verdict(), "");
  entries_.back().missing.push_back(missing(2, Why::died));
  EXPECT_NE(verdict().find("rank 2 was well"), std::string::npos) << verdict();
}

TEST_F(SoakJudge, SeesAReaderThatIsSaidToBeMissingAndOneThatWasThere) {
  Entry& first = told(Outcome::timed_out, {missing(0, Why::not_arrived)});
  EXPECT_NE(verdict().find("it names its reader"), std::string::npos) << verdict();
  first.missing = {missing(1, Why::not_arrived)};
  EXPECT_EQ(verdict(), "");
  told(Outcome::timed_out, {missing(2, Why::not_arrived)}).rank = 1;
  EXPECT_NE(verdict().find("rank 1 was there"), std::string::npos) << verdict();
  add_fault(Fault::Kind::stop, 1, false);
  EXPECT_EQ(verdict(), "");
}

TEST_F(SoakJudge, SeesThatTwoWhoCameWereToldDifferentThings) {
  told(Outcome::timed_out, {missing(2, Why::not_arrived)});
  told(Outcome::timed_out, {missing(2, Why::not_arrived)}).rank = 1;
  EXPECT_EQ(verdict(), "");
  entries_.back().text = "something else";
  EXPECT_NE(verdict().find("was told"), std::string::npos) << verdict();
}

TEST_F(SoakJudge, SeesWhatCanNeverBe) {
  for (const Outcome outcome :
       {Outcome::mismatch, Outcome::deadlock, Outcome::aborted, Outcome::wrong_value, Outcome::unexpected}) {
    entries_.clear();
    told(outcome);
    EXPECT_NE(verdict().find("this can never be right"), std::string::npos) << verdict();
  }
}

TEST_F(SoakJudge, SeesACallThatOutlivedItsDeadlineUnlessItWasStopped) {
  told(Outcome::done).end += plan_.step(0).limit() + grace;
  EXPECT_NE(verdict().find("it took too long"), std::string::npos) << verdict();
  add_fault(Fault::Kind::stop, 0, false);
  EXPECT_EQ(verdict(), "");
}

TEST_F(SoakJudge, SeesACoordinatorThatDidNotAnswerThoughItCould) {
  told(Outcome::coordinator_late);
  EXPECT_NE(verdict().find("the coordinator was well"), std::string::npos) << verdict();
  add_fault(Fault::Kind::stop, Fault::coordinator, false);
  EXPECT_EQ(verdict(), "");
}

TEST_F(SoakJudge, BelievesThatAnExchangeFailedWhereTwoWereApartForLongOrTheCoordinatorWasLost) {
  plan_.hosts = 2;
  plan_.groups = {{0, 1}};
  std::int64_t collective = 1;
  while (plan_.step(collective).kind != Step::Kind::all_reduce) ++collective;
  told(Outcome::exchange_failed).step = collective;
  EXPECT_NE(verdict().find("could reach each other"), std::string::npos) << verdict();
  add_fault(Fault::Kind::kill, 1, true);
  EXPECT_NE(verdict().find("could reach each other"), std::string::npos) << "who is lost is told of as lost: " << verdict();
  add_fault(Fault::Kind::cut_between, 1, false);
  EXPECT_NE(verdict().find("could reach each other"), std::string::npos) << "so short a cut changes nothing: " << verdict();
  faults_.back().begin = start_ - 4 * dead_after;
  EXPECT_EQ(verdict(), "");
  faults_.clear();
  add_fault(Fault::Kind::kill, Fault::coordinator, true);
  EXPECT_EQ(verdict(), "");
}

TEST_F(SoakJudge, BelievesThatARankLeftWhichExited) {
  told(Outcome::lost, {missing(1, Why::left)});
  add_fault(Fault::Kind::exit, 1, true);
  EXPECT_NE(verdict().find("rank 1 had not left"), std::string::npos) << verdict();
  exits_ = {{1, start_ + 12s, 0}};
  EXPECT_EQ(verdict(), "");
}

TEST_F(SoakJudge, SeesAnEndThatNobodyCaused) {
  exits_ = {{0, start_ + 11s, 0}, {1, start_ + 11s, -SIGABRT}};
  EXPECT_NE(verdict().find("rank 1 ended with status -6"), std::string::npos) << verdict();
  exits_ = {{1, start_ + 11s, cut_off_status}};
  EXPECT_NE(verdict().find("rank 1 ended with status 3"), std::string::npos) << verdict();
  add_fault(Fault::Kind::cut, 0, true);  // of the only host
  EXPECT_EQ(verdict(), "");
}

}  // namespace tutti::soak
