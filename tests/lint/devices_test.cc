// Which device a program means, and what follows for what it makes there.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

std::vector<Finding> findings_on(const std::string& program) { return check("import torch\n" + program).findings; }

// Of the one finding.
Confidence confidence_on(const std::string& program) {
  const auto found = findings_on(program);
  EXPECT_EQ(found.size(), 1U) << program;
  return found.empty() ? Confidence::possible : found[0].confidence;
}

std::string whole_after_fix(const std::string& program) { return fixed(program, check(program).findings); }

const std::string read_there = "print(torch.ones(3, device=device).sum().item())\n";

TEST(Device, OfTheCurrentAcceleratorIsLikelyCuda) {
  EXPECT_EQ(
      confidence_on("device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else 'cpu'\n" +
                    read_there),
      Confidence::likely);
  EXPECT_EQ(confidence_on("device = torch.accelerator.current_accelerator() or torch.device('cpu')\n" + read_there),
            Confidence::likely);
  EXPECT_EQ(confidence_on("d = torch.accelerator.current_accelerator()\nx = torch.ones(3, device=d).item()\n"),
            Confidence::likely);
}

TEST(Device, IsNamedByItsTypeToo) {
  EXPECT_EQ(confidence_on("d = torch.device('cuda')\nx = torch.ones(3, device=d.type).item()\n"), Confidence::certain);
  EXPECT_EQ(findings_on("d = torch.device('cpu')\nx = torch.ones(3, device=d.type).item()\n").size(), 0U);
}

TEST(Device, ThatMayBeAnythingOrTheCpuIsNotTheCpu) {
  for (const char* const device :
       {"device = pick() or 'cpu'\n", "device = 'cpu' if quick() else pick()\n",
        "if quick():\n    device = pick()\nelse:\n    device = 'cpu'\n", "device = pick() or torch.device('cpu')\n"})
    EXPECT_EQ(confidence_on(device + read_there), Confidence::likely) << device;
  const std::string made = "    def f(self):\n        return torch.ones(3, device=self.device).item()\n";
  for (const char* const first : {"pick()", "'cpu'"}) {
    const std::string second = first == std::string("'cpu'") ? "pick()" : "'cpu'";
    const std::string start = "class T:\n    def __init__(self):\n        if quick():\n            self.device = ";
    EXPECT_EQ(confidence_on(start + first + "\n        else:\n            self.device = " + second + "\n" + made),
              Confidence::likely)
        << first;
    const std::string global = "def a():\n    global device\n    device = ";
    EXPECT_EQ(confidence_on(global + first + "\n" + "def b():\n    global device\n    device = " + second +
                            "\ndef c():\n    return torch.ones(3, device=device).item()\n"),
              Confidence::likely)
        << first;
  }
  EXPECT_EQ(confidence_on("where = pick() or 'cpu'\nx = torch.ones(3, device=where).item()\n"), Confidence::possible);
  EXPECT_EQ(confidence_on("device = pick() or 'cuda'\n" + read_there), Confidence::likely);
}

TEST(Device, ThatIsNeitherCudaNorTheCpuIsUnknown) {
  for (const char* const device :
       {"torch.device('mps')", "torch.device('xpu:0')", "torch.device(type='meta')", "'mps'",
        "torch.device('mps' if quick() else 'cpu')", "torch.device('one_of_tomorrow')", "'cpu' if quick() else 'xpu'"})
    EXPECT_EQ(confidence_on("device = " + std::string(device) + "\n" + read_there), Confidence::possible) << device;
  EXPECT_EQ(confidence_on("with torch.device('meta'):\n    x = torch.ones(3).item()\n"), Confidence::possible);
  EXPECT_EQ(confidence_on("x = torch.ones(3).to('mps').item()\n"), Confidence::possible);
}

TEST(Device, OfThreeOneOfWhichIsCudaIsLikelyCuda) {
  const std::string choice = "'cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() else 'cpu'";
  EXPECT_EQ(confidence_on("device = " + choice + "\n" + read_there), Confidence::likely);
  EXPECT_EQ(confidence_on("device = torch.device(" + choice + ")\n" + read_there), Confidence::likely);
}

TEST(Device, ThatIsNotCudaGetsNoFix) {
  for (const std::string device :
       {"torch.device('mps')", "torch.device('xpu')", "'mps'", "torch.device('mps' if quick() else 'cpu')"}) {
    const std::string copy = "import torch\ndevice = " + device + "\nx = torch.ones(3)\ny = x.to(device)\n";
    EXPECT_EQ(whole_after_fix(copy), copy);
    const std::string loop = "import torch\nfrom torch.utils.data import DataLoader\ndevice = " + device +
                             "\nloader = DataLoader(data, batch_size=4)\nfor x in loader:\n    x = x.to(device)\n";
    EXPECT_EQ(whole_after_fix(loop), loop);
  }
}

TEST(Device, OfClippedGradientsIsThatOfTheirParameters) {
  const auto clipped = [](const std::string& model) {
    return findings_on(
        "model = " + model +
        "\nnorm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)\nprint(norm)\n");
  };
  EXPECT_EQ(clipped("torch.nn.Linear(3, 3)").size(), 0U);
  EXPECT_EQ(clipped("torch.nn.Linear(3, 3).to('cuda')").size(), 2U);
  EXPECT_EQ(clipped("make()").size(), 2U);
}

}  // namespace
}  // namespace tutti::lint
