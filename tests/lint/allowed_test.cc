// Syncs that are meant.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

Report checked(std::string_view line) { return check("import torch\nx = torch.ones(3, device='cuda')\n" + std::string(line)); }

TEST(Allowed, OnTheLineOrOnTheLineAboveIt) {
  for (const char* line :
       {"y = x.sum().item()  # tutti: allow sync (the end of the run)\n", "# tutti: allow sync (the end)\ny = x.sum().item()\n",
        "y = x.sum(\n    0).item()  # tutti: allow sync (the end)\n"}) {
    const Report report = checked(line);
    EXPECT_TRUE(report.findings.empty()) << line;
    EXPECT_EQ(report.allowed, 1U) << line;
  }
}

TEST(Allowed, NotWithoutAReason) {
  for (const char* line : {"y = x.sum().item()  # tutti: allow sync\n", "y = x.sum().item()  # tutti: allow sync ()\n",
                           "y = x.sum().item()  # tutti: allow sync ( )\n"}) {
    const Report report = checked(line);
    EXPECT_EQ(report.findings.size(), 1U) << line;
    ASSERT_EQ(report.notes.size(), 1U) << line;
    EXPECT_EQ(report.notes[0].line, 3U);
  }
}

TEST(Allowed, NotByAStringOrOnAnotherLine) {
  EXPECT_EQ(checked("s = '# tutti: allow sync (why)'; y = x.sum().item()\n").findings.size(), 1U);
  EXPECT_EQ(checked("y = x.sum().item()\nz = 1  # tutti: allow sync (why)\n").findings.size(), 1U);
}

}  // namespace
}  // namespace tutti::lint
