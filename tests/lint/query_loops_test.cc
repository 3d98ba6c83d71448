// Loops that do nothing but ask query(), beyond what the corpus shows.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

// Of the loops in this program.
std::size_t count_of_query_loops(std::string_view program) {
  std::size_t count = 0;
  for (const Finding& finding : check("import torch\ne = torch.cuda.Event()\n" + std::string(program)).findings)
    count += finding.rule == RuleId::query_loop ? 1 : 0;
  return count;
}

TEST(QueryLoops, AreJudgedByTheNameOfWhatNothingIsKnownOf) {
  const auto confidence = [](std::string_view name) {
    const Report report = check("import torch\ndef f(" + std::string(name) + "):\n    while not " + std::string(name) +
                                ".query():\n        pass\n");
    EXPECT_EQ(report.findings.size(), 1U) << name;
    return report.findings.empty() ? Confidence::certain : report.findings[0].confidence;
  };
  EXPECT_EQ(confidence("copy_event"), Confidence::likely);
  EXPECT_EQ(confidence("done"), Confidence::possible);
  EXPECT_EQ(count_of_query_loops("def f(session):\n    while session.query(Row):\n        pass\n"), 0U) << "it asks a database";
}

TEST(QueryLoops, MayDoAnythingOnTheirWayOut) {
  EXPECT_EQ(count_of_query_loops("while True:\n    if e.query():\n        handle(e)\n        break\n"), 1U);
  EXPECT_EQ(count_of_query_loops("while not e.query():\n    pass\nelse:\n    handle(e)\n"), 1U);
  EXPECT_EQ(count_of_query_loops("while True:\n    if e.query():\n        handle(e)\n"), 0U);
  EXPECT_EQ(count_of_query_loops(
                "while True:\n    for i in range(3):\n        if e.query():\n            handle(e)\n            break\n"),
            0U)
      << "that leaves the loop inside";
  EXPECT_EQ(count_of_query_loops("while True:\n    if n > 3:\n        done = e.query()\n        break\n"), 0U) << "asked once";
}

TEST(QueryLoops, AreNotSeenInWhatDidNotParseNorInFunctionsOfTheirOwn) {
  EXPECT_EQ(count_of_query_loops("while not e.query():\n    x = = 3\n"), 0U);
  EXPECT_EQ(count_of_query_loops("while True:\n    f = lambda: e.query()\n"), 0U);
  EXPECT_EQ(count_of_query_loops("while True:\n    def f():\n        return e.query()\n"), 0U);
}

TEST(QueryLoops, OfAnyLengthAreLookedThroughOnce) {
  std::string program = "while True:\n    if n > 3:\n";
  for (int i = 0; i < 20000; ++i) program += "        e.query()\n";
  EXPECT_EQ(count_of_query_loops(program + "        break\n"), 0U);
  program = "while not e.query():\n";
  for (int i = 0; i < 20000; ++i) program += "    e.query()\n";
  EXPECT_EQ(count_of_query_loops(program), 0U) << "too long to be looked through";
}

}  // namespace
}  // namespace tutti::lint
