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
  const std::string partial = "self.tensor = functools.partial(torch.tensor, device='cuda')\nx = self.tensor(0.5)\n";
  EXPECT_EQ(after_fix("import functools\nclass Holder:\n    pass\nself = Holder()\n" + partial),
            "import functools\nclass Holder:\n    pass\nself = Holder()\n" + partial);
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

TEST(Fix, ReplacesAFlagThatSaysToWait) {
  const auto fixed_copy = [](const std::string& call) { return after_fix("x = torch.ones(3)\ny = " + call + "\n").substr(22); };
  EXPECT_EQ(fixed_copy("x.to('cuda', non_blocking=False)"), "x.to('cuda', non_blocking=True)\n");
  EXPECT_EQ(fixed_copy("x.to('cuda', torch.half, False)"), "x.to('cuda', torch.half, True)\n");
  EXPECT_EQ(fixed_copy("x.cuda(0, False)"), "x.cuda(0, True)\n");
  EXPECT_EQ(fixed_copy("x.cuda(0)"), "x.cuda(0, non_blocking=True)\n");
  for (const char* const call : {"x.cuda(0, flag)", "x.to('cuda', non_blocking=flag)", "x.to('cuda', **more)", "x.cuda(*more)",
                                 "x.to('cuda', non_blocking=False, **more)"})
    EXPECT_EQ(fixed_copy(call), std::string(call) + "\n");
}

TEST(Fix, LeavesWhatMayBePinned) {
  for (const std::string code : {
           "x = torch.ones(3, pin_memory=True)\ny = x.view(-1).to('cuda')\nx.zero_()\n",
           "x = torch.ones(3, pin_memory=True)\ny = x[0].to('cuda')\nx.zero_()\n",
           "x = torch.ones(3, pin_memory=True)\ny = x.T.contiguous().cuda()\nx.zero_()\n",
           "x = torch.ones(3, pin_memory=True)\ny = torch.squeeze(x).cuda()\nx.zero_()\n",
           "x = torch.ones(3, pin_memory=flag)\ny = x.to('cuda')\nx.zero_()\n",
           "x = torch.ones(3, **options)\ny = x.to('cuda')\nx.zero_()\n",
           "x = torch.zeros_like(torch.ones(3), pin_memory=True)\ny = x.to('cuda')\nx.zero_()\n",
           "x = torch.ones(3).new_zeros(3, pin_memory=True)\ny = x.to('cuda')\nx.zero_()\n",
           "x = torch.ones(3)\nif flag:\n    x = x.pin_memory()\ny = x.to('cuda')\nx.zero_()\n",
           "x = torch.ones(3, device='cuda').to('cpu', non_blocking=True)\ny = x.to('cuda')\nx.zero_()\n",
           "def send(x):\n    return x.to('cuda')\n\nsend(torch.ones(3))\n",
       })
    EXPECT_EQ(after_fix(code), code);
}

TEST(Fix, LeavesBatchesThatSomethingElseMayWriteTo) {
  const std::string loader = "loader = DataLoader(data, batch_size=4, pin_memory=True)\n";
  for (const std::string loop : {
           "for x in loader:\n    y = x.to('cuda')\n    x.zero_()\n",
           "for x in loader:\n    kept = x\n    x = x.to('cuda')\n    kept.zero_()\n",
           "for x in loader:\n    y = x.view(-1).to('cuda')\n    x += 1\n",
           "for x in loader:\n    y = x.to('cuda')\nx.zero_()\n",
           "for batch in loader:\n    y = batch['x'].to('cuda')\n    batch['x'][0] = 1\n",
           "for x in list(loader):\n    x = x.to('cuda')\n",
           "for x in [x for x in loader]:\n    x = x.to('cuda')\n",
           "for x in loader:\n    x, y = x.to('cuda'), change(x)\n",
       })
    EXPECT_EQ(after_fix(loader + loop), loader + loop);
  const std::string makes =
      "loader = DataLoader(data, collate_fn=make, pin_memory=True)\nfor x in loader:\n    x = x.to('cuda')\n";
  EXPECT_EQ(after_fix(makes), makes) << "make may hand out the same memory again";
}

TEST(Fix, SendsBatchesThatAreNotUsedAgain) {
  const std::string loader = "loader = DataLoader(data, batch_size=4, pin_memory=True)\n";
  EXPECT_EQ(
      after_fix(loader + "for i, (x, y) in enumerate(loader):\n    n = x.size(0)\n    x, y = x.to(0), y.cuda()\n    x += y\n"),
      loader +
          "for i, (x, y) in enumerate(loader):\n    n = x.size(0)\n    x, y = x.to(0, non_blocking=True), "
          "y.cuda(non_blocking=True)\n    x += y\n");
  EXPECT_EQ(after_fix(loader + "for b in loader:\n    y = model(b['x'].cuda()) + b['y'].cuda() + len(loader)\n"),
            loader +
                "for b in loader:\n    y = model(b['x'].cuda(non_blocking=True)) + b['y'].cuda(non_blocking=True) + "
                "len(loader)\n");
}

TEST(Fix, PinsNoLoaderWhoseBatchesMayBeWrittenToWhileTheyAreSent) {
  const std::string code =
      "loader = DataLoader(data, batch_size=4)\nfor x in loader:\n    y = x.to('cuda', non_blocking=True)\n    x.zero_()\n";
  EXPECT_EQ(after_fix(code), code);
  const std::string position =
      "loader = DataLoader(data, 4, True, None, None, 0, None, False)\nfor x in loader:\n    x = x.to('cuda', "
      "non_blocking=True)\n";
  EXPECT_EQ(after_fix(position), position);
}

TEST(Fix, PinsNothingThatIsOnAGpu) {
  const std::string loop = "for x in loader:\n    x = x.to('cuda')\n";
  for (const std::string made : {
           "x = torch.randn(8, 3, device='cuda')\nloader = DataLoader(torch.utils.data.TensorDataset(x), batch_size=4)\n",
           "x = torch.randn(8, 3).cuda(non_blocking=True)\ndata = torch.utils.data.TensorDataset(x, torch.ones(8))\n"
           "loader = DataLoader(data)\n",
           "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
           "loader = DataLoader(torch.utils.data.TensorDataset(torch.ones(8, device=device)))\n",
           "data = torch.utils.data.TensorDataset(torch.ones(8, device='cuda'))\n"
           "loader = DataLoader(torch.utils.data.Subset(data, [1, 2]))\n",
           "data = torch.utils.data.TensorDataset(torch.ones(8, device='cuda'))\n"
           "one, other = torch.utils.data.random_split(data, [4, 4])\nloader = DataLoader(one)\n",
           "data = torch.utils.data.TensorDataset(*[torch.ones(8, device='cuda')])\nloader = DataLoader(data)\n",
           "class Data(torch.utils.data.Dataset):\n    def __init__(self):\n        self.x = torch.ones(8, device='cuda')\n"
           "loader = DataLoader(Data())\n",
           "class Data(torch.utils.data.Dataset):\n    def __init__(self, x):\n        self.x = x\n"
           "loader = DataLoader(Data(torch.ones(8, device='cuda')))\n",
           "class Data(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n"
           "        return {'x': torch.ones(3, device='cuda'), 'i': i}\nloader = DataLoader(dataset=Data())\n",
           "class Data(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        yield torch.ones(3, device='cuda')\n"
           "loader = DataLoader(Data())\n",
           "class Held(torch.utils.data.Dataset):\n    def __init__(self):\n        self.x = torch.ones(8, device='cuda')\n"
           "class Data(Held):\n    pass\nloader = DataLoader(Data())\n",
           "loader = DataLoader([torch.ones(3, device='cuda') for i in range(8)], batch_size=4)\n",
           "x, y = torch.load('x.pt', map_location='cuda')\nloader = DataLoader(torch.utils.data.TensorDataset(x, y))\n",
           "def make(data):\n    return DataLoader(data, batch_size=4)\n"
           "loader = make(torch.utils.data.TensorDataset(torch.ones(8, device='cuda')))\n",
       }) {
    EXPECT_EQ(after_fix(made + loop), made + loop);
    const std::string source = "import torch\nfrom torch.utils.data import DataLoader\n" + made + loop;
    for (const Finding& finding : check(source).findings) {
      EXPECT_NE(finding.rule, RuleId::unpinned_loader) << source;
      EXPECT_NE(finding.rule, RuleId::blocking_copy) << source;
    }
  }
}

TEST(Fix, PinsNoBatchesThatAFunctionPutsTogether) {
  for (const std::string by : {"put_together", "lambda items: items[0].cuda()"}) {
    const std::string code = "loader = DataLoader(data, collate_fn=" + by + ")\nfor x in loader:\n    x = x.to('cuda')\n";
    EXPECT_EQ(after_fix(code), code) << "they may be on a GPU";
  }
}

TEST(Fix, LeavesLoadersThatAreNotPyTorchs) {
  const auto fix = [](const std::string& import, const std::string& name) {
    const std::string source =
        "import torch\n" + import + "\nloader = " + name + "(data, batch_size=4)\nfor x in loader:\n    x = x.to('cuda')\n";
    return fixed(source, check(source).findings) != source;
  };
  EXPECT_FALSE(fix("from mylib.data import DataLoader", "DataLoader"));
  EXPECT_FALSE(fix("from torch_geometric.loader import DataLoader", "DataLoader"));
  EXPECT_FALSE(fix("import mylib", "mylib.DataLoader"));
  EXPECT_FALSE(fix("class DataLoader:\n    pass", "DataLoader"));
  EXPECT_TRUE(fix("from torch.utils.data import DataLoader", "DataLoader"));
  EXPECT_TRUE(fix("from torch.utils.data import DataLoader as Loader", "Loader"));
  EXPECT_TRUE(fix("from torch.utils.data.dataloader import DataLoader", "DataLoader"));
  EXPECT_TRUE(fix("import torch.utils.data as d", "d.DataLoader"));
  EXPECT_TRUE(fix("from torch.utils import data as d", "d.DataLoader"));
  EXPECT_TRUE(fix("", "torch.utils.data.DataLoader"));
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
