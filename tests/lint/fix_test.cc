// What --fix rewrites, and what it leaves.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "lint/corpus.h"
#include "tutti/lint/check.h"
#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {
namespace {

std::string after_fix(std::string_view code) {
  const std::string source = "import torch\nfrom torch.utils.data import DataLoader\n" + std::string(code);
  const std::string out = fixed(source, check(source).findings);
  return out.substr(out.find("DataLoader\n") + 11);
}

TEST(Fix, MakesNumbersOnTheDevice) {
  EXPECT_EQ(after_fix("x = torch.tensor(0.5, device='cuda')\n"), "x = torch.full((), 0.5, device='cuda')\n");
  EXPECT_EQ(after_fix("x = torch.tensor(-1, dtype=torch.long, device='cuda')\n"),
            "x = torch.full((), -1, dtype=torch.long, device='cuda')\n");
  EXPECT_EQ(after_fix("x = torch.tensor([1, 2], device='cuda')\n"), "x = torch.tensor([1, 2], device='cuda')\n");
  EXPECT_EQ(after_fix("x = torch.tensor(n, device='cuda')\n"), "x = torch.tensor(n, device='cuda')\n");
}

TEST(Fix, DoesNotWaitForCopiesWhoseSourceStaysAsItIs) {
  EXPECT_EQ(after_fix("y = torch.ones(3).cuda()\n"), "y = torch.ones(3).cuda(non_blocking=True)\n");
  EXPECT_EQ(after_fix("x = torch.ones(3)\ny = x.to('cuda')\n"), "x = torch.ones(3)\ny = x.to('cuda', non_blocking=True)\n");
  EXPECT_EQ(after_fix("x = torch.ones(3)\ny = x.to(\n    'cuda',\n)\n"),
            "x = torch.ones(3)\ny = x.to(\n    'cuda', non_blocking=True,\n)\n");
}

TEST(Fix, LeavesPinnedSourcesThatHaveAName) {
  const std::string code = "x = torch.ones(3).pin_memory()\ny = x.to('cuda')\nx.zero_()\n";
  EXPECT_EQ(after_fix(code), code);
}

TEST(Fix, LeavesReadsToPeople) {
  const std::string code = "x = torch.ones(3, device='cuda')\ny = x.cpu()\nif x.sum() > 1:\n    print(x)\n";
  EXPECT_EQ(after_fix(code), code);
}

TEST(Fix, PinsLoadersAndSendsTheirBatches) {
  EXPECT_EQ(
      after_fix("loader = DataLoader(data, batch_size=4)\nfor x, y in loader:\n    x = x.to('cuda')\n"),
      "loader = DataLoader(data, batch_size=4, pin_memory=True)\nfor x, y in loader:\n    x = x.to('cuda', non_blocking=True)\n");
}

TEST(Fix, LeavesNothingToFixAndWhatParsesStillParses) {
  for (const CorpusProgram& program : corpus()) {
    const std::string once = fixed(program.source, check(program.source).findings);
    const auto tree = SyntaxTree::parse(once);
    ASSERT_TRUE(tree);
    EXPECT_FALSE((*tree)[0].is_broken) << program.name;
    EXPECT_EQ(fixed(once, check(once).findings), once) << program.name;
  }
}

TEST(Difference, IsThatOfDiff) {
  EXPECT_EQ(difference("a.py", "1\n2\n", "1\n2\n"), "");
  EXPECT_EQ(difference("a.py", "1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nsix\n"),
            "--- a/a.py\n+++ b/a.py\n@@ -3,4 +3,4 @@\n 3\n 4\n 5\n-6\n+six\n");
  EXPECT_EQ(difference("a.py", "1", "2"),
            "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-1\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n");
}

}  // namespace
}  // namespace tutti::lint
