// How sure a finding is, and how much it weighs.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

Finding only(std::string_view source) {
  const Report report = check("import torch\n" + std::string(source));
  EXPECT_EQ(report.findings.size(), 1U) << source;
  return report.findings.empty() ? Finding{} : report.findings[0];
}

TEST(Confidence, IsCertainWhereTheFileNamesTheDevice) {
  EXPECT_EQ(only("x = torch.ones(3, device='cuda')\ny = x.sum().item()\n").confidence, Confidence::certain);
}

TEST(Confidence, IsLikelyWhereTheDeviceIsChosenWhenItRuns) {
  EXPECT_EQ(only("d = 'cuda' if torch.cuda.is_available() else 'cpu'\ny = torch.ones(3, device=d).sum().item()\n").confidence,
            Confidence::likely);
  EXPECT_EQ(only("def f(args):\n    return torch.ones(3, device=args.device).sum().item()\n").confidence, Confidence::likely);
  EXPECT_EQ(only("class Net(torch.nn.Module):\n    def forward(self, x):\n        return x.sum().item()\n").confidence,
            Confidence::likely);
}

TEST(Confidence, IsPossibleWhereNothingSaysWhereATensorIs) {
  EXPECT_EQ(only("def f(x: torch.Tensor):\n    return x.sum().item()\n").confidence, Confidence::possible);
  EXPECT_EQ(only("def f(x):\n    return x.item()\n").confidence, Confidence::possible);
}

TEST(Weight, IsMoreInALoopAndMostInAStep) {
  const std::string x = "x = torch.ones(3, device='cuda')\n";
  EXPECT_EQ(only(x + "y = x.sum().item()\n").weight, Weight::once);
  EXPECT_EQ(only(x + "for i in range(3):\n    y = x.sum().item()\n").weight, Weight::loop);
  EXPECT_EQ(only(x + "for i in range(3):\n    if i % 100 == 0:\n        y = x.sum().item()\n").weight, Weight::sometimes);
  EXPECT_EQ(only("def train_step(x):\n    return x.item()\n").weight, Weight::step);
  EXPECT_EQ(only(x + "def read():\n    return x.sum().item()\nwhile True:\n    read()\n").weight, Weight::loop);
  EXPECT_EQ(
      only(x + "loader = torch.utils.data.DataLoader(d, pin_memory=True)\nfor b in loader:\n    y = x.sum().item()\n").weight,
      Weight::step);
}

TEST(Place, IsCountedInCharacters) {
  const Finding finding = only("x = torch.ones(3, device='cuda')\ns = 'äöü'; y = x.sum().item()\n");
  EXPECT_EQ(finding.line, 3U);
  EXPECT_EQ(finding.column, 16U);
  EXPECT_EQ(finding.end_line, 3U);
  EXPECT_EQ(finding.end_column, 30U);
}

}  // namespace
}  // namespace tutti::lint
