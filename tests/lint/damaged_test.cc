// Sources that are broken, huge, deep or no Python at all.
#include <gtest/gtest.h>

#include <string>

#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

const std::string good = "import torch\nx = torch.ones(3, device='cuda')\ny = x.sum().item()\n";

TEST(Damaged, NothingIsSaidAboutAStatementThatDoesNotParse) {
  const Report report = check(good + "z = x.item() + ) x.item(\n");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].line, 3U);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_GE(report.notes[0].line, 3U);
}

TEST(Damaged, WhatStandsBeforeItIsCheckedAllTheSame) {
  EXPECT_EQ(check(good + "def f(:\n    return x.item()\n").findings.front().line, 3U);
}

TEST(Damaged, OtherLanguagesBytesAndNothingHaveNoFindings) {
  EXPECT_TRUE(check("").findings.empty());
  EXPECT_TRUE(check("#include <torch/torch.h>\nint main() { return x.item<float>(); }\n").findings.empty());
  EXPECT_TRUE(check(std::string("torch\0\xff\xfe\x80 \xc3(", 12)).findings.empty());
  EXPECT_TRUE(check("{\"torch\": [1, 2, {\"item\": null}]}").findings.empty());
}

TEST(Damaged, TextOfAnotherEncodingIsCheckedAroundItsStrings) {
  EXPECT_EQ(check(good + "s = 'f\xfcr'\nw = x.mean().item()\n").findings.size(), 2U);
}

TEST(Damaged, DepthIsNoTrouble) {
  std::string deep = good;
  deep += "z = " + std::string(20'000, '(') + "x" + std::string(20'000, ')') + "\n";
  deep += "w = x" + [] {
    std::string calls;
    for (int i = 0; i < 5'000; ++i) calls += ".abs()";
    return calls;
  }() + "\n";
  for (int i = 0; i < 90; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "if a:\n";
  deep += std::string(90, ' ') + "pass\n";
  EXPECT_GE(check(deep).findings.size(), 1U);
}

TEST(Damaged, AssignmentsInALongRowAndTargetsInEachOther) {
  std::string row = good + "z";
  for (int i = 0; i < 100'000; ++i) row += " = z";
  row += " = x.mean().item()\n";
  EXPECT_EQ(check(row).findings.size(), 2U);
  for (const std::string bracket : {"(", "["}) {
    std::string nested = good;
    for (int i = 0; i < 20'000; ++i) nested += bracket;
    nested += "z";
    for (int i = 0; i < 20'000; ++i) nested += bracket == "(" ? ",)" : "]";
    EXPECT_EQ(check(nested + " = [1]\n").findings.size(), 1U);
  }
  std::string signs = good + "x[0] = ";
  for (int i = 0; i < 100'000; ++i) signs += "-";
  EXPECT_GE(check(signs + "1\n").findings.size(), 1U);
}

TEST(Damaged, WhatIsNestedIsLookedAtOnce) {
  std::string conditions = "b";
  for (int i = 0; i < 70; ++i) conditions = "(" + conditions + " and b) + 1";
  EXPECT_EQ(check(good + "z = " + conditions + "\n").findings.size(), 1U);
  std::string functions = good;
  for (std::size_t i = 0; i < 29; ++i) {
    functions += std::string(2 * i, ' ') + "for i in y:\n" + std::string(2 * i + 1, ' ') + "def f():\n";
  }
  EXPECT_EQ(check(functions + std::string(58, ' ') + "x.mean().item()\n").findings.size(), 2U);
}

TEST(Damaged, TypesAboveTypesAreNoTrouble) {
  std::string deep = good + "class A0: pass\n";
  for (int i = 1; i < 20'000; ++i) deep += "class A" + std::to_string(i) + "(A" + std::to_string(i - 1) + "): pass\n";
  EXPECT_EQ(check(deep + "A19999().step()\n").findings.size(), 1U);
  std::string wide = good + "class A0: pass\n";
  for (int i = 1; i < 50; ++i) {
    const std::string above = "A" + std::to_string(i - 1);
    wide += "class B" + std::to_string(i) + "(" + above + "): pass\nclass C" + std::to_string(i) + "(" + above + "): pass\n";
    wide += "class A" + std::to_string(i) + "(B" + std::to_string(i) + ", C" + std::to_string(i) + "): pass\n";
  }
  EXPECT_EQ(check(wide + "A49().step(A49().held)\n").findings.size(), 1U);
}

TEST(Damaged, SizeIsNoTrouble) {
  std::string large = good + "table = [\n";
  for (int i = 0; i < 100'000; ++i) large += "  1, 2, 3,\n";
  large += "]\n";
  for (int i = 0; i < 2'000; ++i) large += "y = x.sum().item()\n";
  EXPECT_EQ(check(large).findings.size(), 2'001U);
  const Report refused = check("torch" + std::string((std::size_t{32} << 20) + 1, ' '));
  ASSERT_EQ(refused.notes.size(), 1U);
  EXPECT_NE(refused.notes[0].text.find("32 MiB"), std::string::npos);
}

}  // namespace
}  // namespace tutti::lint
