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
  EXPECT_NEAR(waits_per_step(report), 1, 0.01);
}

}  // namespace
}  // namespace tutti::tracing
