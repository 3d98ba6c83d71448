// The table of rules.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tutti/lint/check.h"
#include "tutti/lint/rule.h"
#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {
namespace {

TEST(Rules, AreInTheOrderOfTheirIdsWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < rules().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(rules()[i].id), i) << rules()[i].name;
    EXPECT_TRUE(names.insert(rules()[i].name).second) << rules()[i].name;
    EXPECT_EQ(find_rule(rules()[i].name), &rules()[i]);
  }
  EXPECT_EQ(find_rule("nothing"), nullptr);
  EXPECT_LT(rules().size(), 64U);
}

TEST(Rules, ShowPythonBeforeAndAfter) {
  for (const Rule& each : rules()) {
    for (const std::string_view code : {each.before, each.after}) {
      const auto tree = SyntaxTree::parse(code);
      ASSERT_TRUE(tree) << each.name;
      EXPECT_FALSE((*tree)[0].is_broken) << each.name;
      EXPECT_TRUE(code.ends_with('\n')) << each.name;
    }
    EXPECT_NE(each.before, each.after) << each.name;
    EXPECT_FALSE(each.why.empty() || each.instead.empty() || each.safe.empty() || each.title.empty()) << each.name;
  }
}

}  // namespace
}  // namespace tutti::lint
