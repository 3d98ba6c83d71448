// How often the linter is right about programs whose syncs were counted on a GPU (corpus/README.md).
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <string>
#include <utility>

#include "lint/corpus.h"
#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

TEST(Corpus, HasTwoHundredProgramsOfEveryKindOfRule) {
  const auto programs = corpus();
  EXPECT_GE(programs.size(), 200U);
  std::set<std::string> labelled;
  for (const CorpusProgram& program : programs) {
    for (const auto& [line, rule] : program.expected) {
      EXPECT_NE(find_rule(rule), nullptr) << program.file << ":" << line << ": no rule is named '" << rule << "'";
      labelled.insert(rule);
    }
  }
  for (const Rule& rule : rules())
    EXPECT_TRUE(labelled.contains(std::string(rule.name))) << "no program shows '" << rule.name << "'";
}

TEST(Corpus, IsJudgedWithAPrecisionOf095AndARecallOf09) {
  double right = 0;
  double wrong = 0;
  double missed = 0;
  for (const CorpusProgram& program : corpus()) {
    std::set<std::pair<std::uint32_t, std::string>> found;
    for (const Finding& finding : check(program.source).findings) {
      if (finding.confidence >= Confidence::likely) found.emplace(finding.line, std::string(rule(finding.rule).name));
    }
    for (const auto& each : found) {
      const bool is_right = program.expected.contains(each);
      (is_right ? right : wrong) += 1;
      if (!is_right)
        std::cout << program.file << ":" << each.first << ": '" << program.name << "': " << each.second
                  << " is found and not labelled\n";
    }
    for (const auto& each : program.expected) {
      if (found.contains(each)) continue;
      missed += 1;
      std::cout << program.file << ":" << each.first << ": '" << program.name << "': " << each.second
                << " is labelled and not found\n";
    }
  }
  std::cout << right << " right, " << wrong << " wrong, " << missed << " missed\n";
  EXPECT_GE(right / (right + wrong), 0.95);
  EXPECT_GE(right / (right + missed), 0.9);
}

}  // namespace
}  // namespace tutti::lint
