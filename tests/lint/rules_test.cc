// The table of rules.
#include <gtest/gtest.h>

#include <algorithm>
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

// What the snippets leave out.
const std::string prelude =
    "import math\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\nimport torch\nimport torch.distributed as dist\n"
    "import torch.nn.functional as F\nfrom torch.distributions import Normal\nfrom torch.nn.utils import clip_grad_norm_\n"
    "from torch.nn.utils.rnn import pack_padded_sequence\nfrom torch.utils.data import DataLoader\n"
    "device = torch.device('cuda')\nmodel = torch.nn.Linear(3, 3).to(device)\nscaler = torch.amp.GradScaler('cuda')\n"
    "x = torch.ones(3, 3, device=device)\na = b = previous = mean = deviation = std = scores = best = out = x\n"
    "loss = grad = threshold = per_token = x.sum()\nmask = x > 1\nlabels = rows = repeats = lengths = x.long()\n"
    "lengths_on_host = torch.ones(3)\ny = x + 1\nlosses = []\nouts = []\nbatches = [x]\nside = torch.cuda.Stream()\n"
    "done = torch.cuda.Event()\ndata = torch.utils.data.TensorDataset(torch.ones(3))\nloader = DataLoader(data)\n"
    "def step(x):\n    return model(x).sum()\ntrain = step\n";

// In a loop, unless it has one of its own.
std::string program_of(std::string_view snippet, bool is_in_loop) {
  std::string out = prelude;
  if (is_in_loop) out += "for turn in range(9):\n    ";
  for (const char each : snippet) {
    out += each;
    if (each == '\n' && is_in_loop) out += "    ";
  }
  return out + "\nfor batch in loader:\n    batch = batch.to(device, non_blocking=True)\n";
}

TEST(Rules, AreNotGivenForWhatTheyTellToWrite) {
  const auto own = std::count(prelude.begin(), prelude.end(), '\n');
  for (const Rule& each : rules()) {
    const bool has_loop = each.before.find("for ") != std::string_view::npos;
    const auto heaviest = [&](std::string_view snippet) {
      const std::string batches = each.id == RuleId::pin_memory ? "batches = [lengths_on_host]\n" : "";
      int weight = -1;
      for (const Finding& finding : check(program_of(batches + std::string(snippet), !has_loop)).findings) {
        if (finding.rule == each.id && finding.line > own && finding.confidence >= Confidence::likely)
          weight = std::max(weight, static_cast<int>(finding.weight));
      }
      return weight;
    };
    // Of JAX no tensor is among the names.
    const int before = each.category == "jax" ? static_cast<int>(Weight::step) : heaviest(each.before);
    EXPECT_GE(before, 0) << each.name << "\n" << each.before;
    EXPECT_LT(heaviest(each.after), before) << each.name << "\n" << each.after;
  }
}

}  // namespace
}  // namespace tutti::lint
