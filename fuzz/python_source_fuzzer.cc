// Any bytes as a Python source: no crash, no finding in what did not parse, fixes that parse, and an answer for any place in it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/lint/check.h"
#include "tutti/lint/seen_wait.h"
#include "tutti/lint/syntax_tree.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::lint;
  const std::string source =
      "import torch\nx = torch.ones(3, device='cuda')\n" + std::string(reinterpret_cast<const char*>(data), size);
  const auto tree = SyntaxTree::parse(source);
  require(tree.has_value());
  const Report report = check(source);
  for (const Finding& finding : report.findings) {
    require(finding.begin <= finding.end && finding.end <= source.size() && finding.line >= 1 &&
            finding.line <= finding.end_line);
    for (NodeId id = 0; id < tree->size(); ++id) {
      const Node& node = (*tree)[id];
      require(node.kind != Syntax::error || node.end <= finding.begin || finding.end <= node.begin || node.begin == node.end);
    }
  }
  const SeenSource seen(source);
  for (NodeId id = 0; id < tree->size() && id < 200; ++id) {
    const SeenWait wait{(*tree)[id].line + 1, {}, tree->text(id), static_cast<Transfer>(id % 4)};
    static_cast<void>(seen.use_of(wait));
    static_cast<void>(seen.finding_of(wait));
  }
  const std::string_view line = std::string_view(source).substr(source.rfind('\n') + 1);
  const SeenWait last{3, line, line.substr(0, line.size() / 2), Transfer::to_host};
  require(line.empty() || line_of(source, last) != 0 || line.find_first_not_of(" \t\r") != 0 ||
          line.find_last_of(" \t\r") == line.size() - 1);
  static_cast<void>(SeenSource(last).use_of(last));
  const std::string better = fixed(source, report.findings);
  if (!(*tree)[tree->root()].is_broken) {
    const auto again = SyntaxTree::parse(better);
    require(again && !(*again)[again->root()].is_broken);
  }
  static_cast<void>(difference("source.py", source, better));
  return 0;
}
