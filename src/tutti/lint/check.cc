#include "tutti/lint/check.h"

#include <algorithm>
#include <unordered_set>

#include "tutti/lint/analyser.h"
#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {

namespace {

constexpr std::string_view allowance = "tutti: allow sync";

// Lines, from 1, whose syncs are meant: those with the comment, and the one below a comment that has a line of its own.
std::unordered_set<std::uint32_t> allowed_lines(const SyntaxTree& tree, std::vector<Note>& notes) {
  std::unordered_set<std::uint32_t> out;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node& node = tree[id];
    if (node.kind != Syntax::comment) continue;
    std::string_view words = tree.text(id);
    const std::size_t at = words.find(allowance);
    if (at == std::string_view::npos) continue;
    words.remove_prefix(at + allowance.size());
    const std::size_t open = words.find_first_not_of(' ');
    const std::size_t close = words.rfind(')');
    const bool has_reason = open != std::string_view::npos && words[open] == '(' && close != std::string_view::npos &&
                            words.substr(open + 1, close - open - 1).find_first_not_of(' ') != std::string_view::npos;
    if (!has_reason) {
      notes.push_back({node.line + 1, "'# tutti: allow sync' allows nothing without a reason: '# tutti: allow sync (why)'"});
      continue;
    }
    const std::string_view before = tree.source().substr(0, node.begin);
    const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const bool is_alone = before.substr(line_begin).find_first_not_of(" \t") == std::string_view::npos;
    out.insert(node.line + 1 + (is_alone ? 1 : 0));
  }
  return out;
}

}  // namespace

Report check(std::string_view source) {
  Report report;
  const bool may_matter = source.find("torch") != std::string_view::npos || source.find("jax") != std::string_view::npos;
  if (!may_matter) return report;
  const auto tree = SyntaxTree::parse(source);
  if (!tree) {
    report.notes.push_back({0, "not checked: larger than 32 MiB, or the parser gave up after 20 s"});
    return report;
  }
  const Node& root = (*tree)[tree->root()];
  if (root.is_broken) {
    NodeId worst = tree->root();
    for (NodeId id = 0; id < tree->size(); ++id) {
      if ((*tree)[id].kind == Syntax::error) {
        worst = id;
        break;
      }
    }
    report.notes.push_back({(*tree)[worst].line + 1, "does not parse here; the statement is left out"});
  }
  report.findings = Analyser(*tree).run();
  report.allowed_lines = allowed_lines(*tree, report.notes);
  report.allowed = std::erase_if(report.findings, [&](const Finding& finding) { return report.is_allowed(finding); });
  return report;
}

bool Report::is_allowed(const Finding& finding) const {
  for (std::uint32_t line = finding.line; line <= finding.end_line; ++line) {
    if (allowed_lines.contains(line)) return true;
  }
  return false;
}

}  // namespace tutti::lint
