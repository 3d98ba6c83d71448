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

TEST(Confidence, IsLikelyWhereAModuleThatIsImportedWasMoved) {
  const std::string net = "from zoo import net\nn = net().to('cuda', non_blocking=True)\n";
  EXPECT_EQ(only(net + "y = n(1).item()\n").confidence, Confidence::likely);
  EXPECT_EQ(only(net + "y = n.num_layers.item()\n").confidence, Confidence::possible) << "it may be anything";
}

TEST(Confidence, IsPossibleWhereWhatWasMovedMayBeNoTensor) {
  const std::string model = "from zoo import Auto\nmodel = Auto.load('bert').to('cuda', non_blocking=True)\n";
  for (const char* const use :
       {"print(model)\n", "s = f'{model}'\n", "if model:\n    s = 1\n", "if model.can_generate():\n    s = 1\n",
        "s = model.encode(['a']).tolist()\n", "s = str(model)\n"})
    EXPECT_EQ(only(model + use).confidence, Confidence::possible) << use;
}

TEST(Confidence, StaysWhereWhatWasMovedIsUsedAsATensor) {
  const std::string x = "x = get().to('cuda', non_blocking=True)\n";
  for (const char* const use :
       {"y = x.item()\n", "y = x.tolist()\n", "y = float(x)\n", "y = x.sum().item()\n", "y = x.nonzero()\n", "print(x + 1)\n",
        "print(x.mean(0))\n", "y = x.cpu()\n", "print(x.generate(3))\n", "print(x.add_(1))\n"})
    EXPECT_EQ(only(x + use).confidence, Confidence::certain) << use;
}

TEST(Confidence, IsLikelyAtMostWhereADataclassHasADefault) {
  const std::string config = "@dataclass\nclass Config:\n    device: str = 'cuda'\n";
  const std::string read = "y = torch.ones(3, device=config.device).sum().item()\n";
  EXPECT_EQ(only(config + "config = Config()\n" + read).confidence, Confidence::likely);
  EXPECT_EQ(only(config + "config = Config('cpu')\n" + read).confidence, Confidence::likely);
  EXPECT_EQ(only(config + "config = Config(device='cuda')\n" + read).confidence, Confidence::certain);
  EXPECT_EQ(check("import torch\n" + config + "config = Config(device='cpu')\n" + read).findings.size(), 0U);
}

TEST(Confidence, IsLikelyWhereAnInstanceMayBeGivenAnotherDeviceThanItsClass) {
  const std::string holder =
      "class T:\n    device = 'cuda'\n    def f(self):\n        return torch.ones(3, device=self.device).item()\n";
  EXPECT_EQ(only(holder).confidence, Confidence::certain);
  EXPECT_EQ(only(holder + "    def g(self):\n        self.device = 'cpu'\n").confidence, Confidence::likely);
}

TEST(Confidence, IsPossibleWhereAnArgumentOfForwardMayBeAFlag) {
  const std::string forward = "class Net(torch.nn.Module):\n    def forward(self, x, sample):\n";
  EXPECT_EQ(only(forward + "        if sample:\n            x = 1\n").confidence, Confidence::possible);
  EXPECT_EQ(only(forward + "        while not sample:\n            x = 1\n").confidence, Confidence::possible);
  EXPECT_EQ(only(forward + "        if sample > 3:\n            x = 1\n").confidence, Confidence::likely);
  EXPECT_EQ(only(forward + "        if x:\n            x = 1\n").confidence, Confidence::likely);
}

TEST(Confidence, IsPossibleWhereAnArgumentOfForwardMayBeANumber) {
  const std::string forward = "class Net(torch.nn.Module):\n    def forward(self, x, rounds, start, end):\n";
  for (const char* const use :
       {"for _ in range(rounds):\n            x = x + 1\n", "for _ in range(rounds + 1):\n            x = x + 1\n",
        "return x[:, start:]\n", "return x[:end - start]\n", "return torch.zeros(rounds, 3)\n"})
    EXPECT_EQ(only(forward + "        " + use).confidence, Confidence::possible) << use;
  EXPECT_EQ(only(forward + "        return x[:rounds.sum()]\n").confidence, Confidence::likely);
}

TEST(Confidence, IsPossibleWhereNothingIsImportedThatMakesTensors) {
  const auto confidence = [](const std::string& import) {
    const Report report = check(import + "\n# not torch\ndef f(device):\n    return x.to(device)\n");
    EXPECT_EQ(report.findings.size(), 1U) << import;
    return report.findings.empty() ? Confidence::certain : report.findings[0].confidence;
  };
  for (const char* const import : {"", "import numpy as np", "from . import torch_models", "from here import torch_x"})
    EXPECT_EQ(confidence(import), Confidence::possible) << import;
  for (const char* const import :
       {"import torch", "import torch.nn as nn", "from torch import nn", "import numpy, torch as t",
        "from transformers import AutoModel", "import pytorch_lightning as pl", "def g():\n    import torch"})
    EXPECT_EQ(confidence(import), Confidence::likely) << import;
}

TEST(Weight, IsThatOfAStepInALoopOverWhatIsMadeOfALoader) {
  const auto weight = [](const std::string& over) {
    return only(
               "from tqdm import tqdm\nimport itertools\nx = torch.ones(3, device='cuda')\ndef f(loader, other_loader):\n"
               "    for b in " +
               over + ":\n        y = x.sum().item()\n")
        .weight;
  };
  for (const char* const over :
       {"loader", "enumerate(loader)", "enumerate(loader, 1)", "enumerate(tqdm(loader))", "tqdm(enumerate(loader))",
        "zip(loader, other_loader)", "enumerate(zip(range(9), loader))", "itertools.islice(loader, 9)"})
    EXPECT_EQ(weight(over), Weight::step) << over;
  EXPECT_EQ(weight("enumerate([1, 2])"), Weight::loop);
}

TEST(Weight, IsLessWhereARemainderDecides) {
  const auto weight = [](const std::string& condition) {
    return only("x = torch.ones(3, device='cuda')\nfor i in range(9):\n    if " + condition + ":\n        y = x.sum().item()\n")
        .weight;
  };
  EXPECT_EQ(weight("i%10==0"), Weight::sometimes);
  EXPECT_EQ(weight("(i + 1) % n == 0 and i"), Weight::sometimes);
  EXPECT_EQ(weight("not i % 10"), Weight::sometimes);
  EXPECT_EQ(weight("name == '%d' % i"), Weight::loop);
  EXPECT_EQ(weight("name == ' % '"), Weight::loop);
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
