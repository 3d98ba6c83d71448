// The command of a build that has no parser.
#include <gtest/gtest.h>

#include "tools/lint.h"

namespace tutti::tools {
namespace {

TEST(Absent, IsAMistakeAndNoFinding) { EXPECT_EQ(run_lint({}), 2); }

}  // namespace
}  // namespace tutti::tools
