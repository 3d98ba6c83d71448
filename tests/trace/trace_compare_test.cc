// Two traces of one program, before and after a change.
#include "tutti/trace/trace_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace_bytes.h"

namespace tutti::tracing {
namespace {

using testing::HasSubstr;

TraceReport read_back(const TraceBytes& bytes) { return make_report({read_trace(bytes.bytes, "a")}); }

constexpr std::string_view prints = "    print(loss.item())";
constexpr std::string_view decides = "    if loss.item() > 3:";

TEST(TraceCompare, TheSameTraceHasNotChanged) {
  const TraceComparison same = compare(read_back(small_trace(20)), read_back(small_trace(20)));
  ASSERT_EQ(same.sites.size(), 1U);
  EXPECT_EQ(same.sites[0].kind, SiteChange::Kind::same);
  EXPECT_EQ(same.step_before, same.step_after);
  EXPECT_FALSE(same.only_moved);
}

TEST(TraceCompare, AWaitThatIsNoLongerThereIsGone) {
  const TraceComparison found = compare(read_back(small_trace(20)), read_back(small_trace(0)));
  ASSERT_EQ(found.sites.size(), 1U);
  EXPECT_EQ(found.sites[0].kind, SiteChange::Kind::gone);
  EXPECT_EQ(found.sites[0].after, 0);
  EXPECT_THAT(found.to_text(), HasSubstr("gone"));
}

TEST(TraceCompare, AWaitThatComesUpElsewhereWasMovedRatherThanRemoved) {
  const TraceComparison found = compare(read_back(small_trace(20, prints, 11, 22)), read_back(small_trace(20, decides, 13, 17)));
  ASSERT_EQ(found.sites.size(), 2U);
  EXPECT_TRUE(found.only_moved);
  EXPECT_THAT(found.to_text(), HasSubstr("moved rather than removed"));
}

// The same line of code, further down.
TEST(TraceCompare, AWaitWhoseLineStandsElsewhereHasMoved) {
  TraceBytes after = small_trace(0, prints, 11, 22);
  after.record(RecordKind::python_frame, PythonFrameBody{3, 3, 4, 9, 9, 11, 22, 5}).stack(StackHead{2, 0, 1, 1, 0}, {3, 2});
  for (std::uint64_t i = 0; i < 20; ++i) {
    WaitBody wait{};
    wait.begin = 10'000 + i * 1'000'000;
    wait.end = wait.begin + 100'000;
    wait.bytes = 4;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 2;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    wait.direction = CopyDirection::to_host;
    after.record(RecordKind::wait, wait);
  }
  const TraceComparison found = compare(read_back(small_trace(20, prints, 11, 22)), read_back(after));
  ASSERT_EQ(found.sites.size(), 1U);
  EXPECT_EQ(found.sites[0].kind, SiteChange::Kind::moved);
  EXPECT_FALSE(found.only_moved) << "the host waits as long as before";
  EXPECT_THAT(found.to_text(), HasSubstr("train.py:9, was at train.py:3"));
  EXPECT_THAT(found.to_json(), HasSubstr("\"change\":\"moved\",\"place\":\"train.py:9\",\"was_at\":\"train.py:3\""));
}

TEST(TraceCompare, AChangedCommentOrLineNumberIsTheSameWait) {
  EXPECT_EQ(name_across_changes("/a/train.py", "f", "x.item()  # old", "copy"),
            name_across_changes("/b/train.py", "f", "x.item()", "copy"));
  EXPECT_NE(name_across_changes("train.py", "f", "x.item()", "copy"), name_across_changes("train.py", "g", "x.item()", "copy"));
}

TEST(TraceCompare, ItsTextFitsATerminal) {
  const std::string text =
      compare(read_back(small_trace(20, prints, 11, 22)), read_back(small_trace(20, decides, 9, 20))).to_text();
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 80U) << text;
    begin = end + 1;
  }
}

TEST(TraceCompare, WaitsAStepAreCountedAfterTheWarmUp) {
  const TraceReport report = read_back(small_trace(20));
  EXPECT_NEAR(waits_per_step(report, report.sites.at(0)), 1, 0.01);
  EXPECT_NEAR(most_waits_per_step(report).waits, 1, 0.01);
}

TEST(TraceCompare, WaitsOfSeveralProcessesAreCountedByTheStepsOfEach) {
  const ProcessTrace rank = read_trace(small_trace(20).bytes, "a");
  const ProcessTrace shorter = read_trace(small_trace(10).bytes, "b");
  const ProcessTrace other = read_trace(small_trace(20, prints, 11, 22).bytes, "c");
  const TraceReport report = make_report({rank, shorter, other});
  ASSERT_EQ(report.sites.size(), 2U);
  for (const WaitSite& site : report.sites) EXPECT_NEAR(waits_per_step(report, site), 1, 0.01);
  EXPECT_EQ(report.sites[0].processes() + report.sites[1].processes(), 3U);
  EXPECT_NEAR(most_waits_per_step(report).waits, 1, 0.01);
  EXPECT_THAT(report.to_text(), HasSubstr("in 2 of 3 processes"));
  EXPECT_THAT(report.to_json(), HasSubstr("\"per_step\":1.000"));
  const TraceComparison same = compare(report, make_report({rank}));
  for (const SiteChange& site : same.sites) EXPECT_NEAR(site.before, 1, 0.01);
}

TEST(TraceCompare, AProcessWithoutStepsIsCountedByTheOthers) {
  const TraceReport report =
      make_report({read_trace(small_trace(20).bytes, "a"), read_trace(small_trace(2, prints, 11, 22).bytes, "b")});
  ASSERT_EQ(report.sites.size(), 2U);
  EXPECT_NEAR(waits_per_step(report, report.sites[1]), 0.1, 0.01);
}

TEST(TraceCompare, AChangeWithinTheSpreadOfStepsIsNoGain) {
  TraceComparison found;
  found.step_before = 2'030'000;
  found.step_after = 2'000'000;
  found.spread_before = 350'000;
  found.spread_after = 420'000;
  found.predicted = 1'990'000;
  EXPECT_THAT(found.to_text(), HasSubstr("no gain and no loss can be told"));
  EXPECT_THAT(found.to_text(), testing::Not(HasSubstr("% of")));
}

TEST(TraceCompare, WhereTheHostIsTheLimitNoPartOfThePredictionIsTold) {
  TraceComparison found;
  found.step_before = 2'030'000;
  found.step_after = 1'440'000;
  found.spread_before = 350'000;
  found.spread_after = 420'000;
  found.predicted = 1'990'000;
  found.busy = 80'000;
  found.host_is_limit = true;
  EXPECT_THAT(found.to_text(), HasSubstr("The gain is 590.0 us; predicted was at least 40.0 us less."));
  EXPECT_THAT(found.to_text(), HasSubstr("GPU busy 3 % of a step"));
  found.host_is_limit = false;
  found.predicted = 1'500'000;
  EXPECT_THAT(found.to_text(), HasSubstr("111 % of the 530.0 us"));
}

}  // namespace
}  // namespace tutti::tracing
