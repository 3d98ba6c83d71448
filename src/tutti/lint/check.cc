#include "tutti/lint/check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "tutti/lint/analyser.h"
#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {

namespace {

// The lines of each statement, from 1; of a compound one those of its header and of each clause's.
class StatementLines {
 public:
  explicit StatementLines(const SyntaxTree& tree) : tree_(tree) {
    const std::string_view source = tree.source();
    for (std::size_t at = source.find('\n'); at != std::string_view::npos; at = source.find('\n', at + 1))
      begins_.push_back(static_cast<std::uint32_t>(at + 1));
    first_.assign(begins_.size() + 2, 0);
    last_ = first_;
    code_ = first_;
    for (auto line = static_cast<std::uint32_t>(begins_.size() + 1); line > 0; --line)
      code_[line] = line <= begins_.size() && begin_of_words(line) == '#' ? code_[line + 1] : line;
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (is_statement(id)) add(line_of(tree[id].begin), line_of(std::max(header_end(id), tree[id].begin + 1) - 1));
    }
  }

  // First and last of what a comment on this line is about.
  std::pair<std::uint32_t, std::uint32_t> meant_on(std::uint32_t line) const {
    if (first_[line] == 0) line = code_[line];  // it is alone: what is below it, and below more comments
    return first_[line] == 0 ? std::pair(line, line) : std::pair(first_[line], last_[line]);
  }

 private:
  char begin_of_words(std::uint32_t line) const {
    const std::size_t at = tree_.source().find_first_not_of(" \t", begins_[line - 1]);
    return at == std::string_view::npos ? '\0' : tree_.source()[at];
  }

  bool is_statement(NodeId id) const {
    const Node& node = tree_[id];
    if (node.kind == Syntax::comment || node.kind == Syntax::error || node.parent == no_node) return false;
    switch (node.kind) {
      case Syntax::elif_clause:
      case Syntax::else_clause:
      case Syntax::except_clause:
      case Syntax::finally_clause:
      case Syntax::case_clause:
      case Syntax::function_definition:  // below its decorators
      case Syntax::class_definition: return true;
      default: break;
    }
    const Syntax above = tree_[node.parent].kind;
    return above == Syntax::module || above == Syntax::block;
  }

  // Where a statement ends, or what it says before its first block.
  std::uint32_t header_end(NodeId id) const {
    std::uint32_t end = tree_[id].begin;
    for (NodeId child = tree_[id].first; child != no_node; child = tree_[child].next) {
      const Syntax kind = tree_[child].kind;
      if (kind == Syntax::block) return end;
      if (kind == Syntax::function_definition || kind == Syntax::class_definition) return header_end(child);  // decorated
      if (kind != Syntax::comment) end = tree_[child].end;
    }
    return tree_[id].end;
  }

  std::uint32_t line_of(std::uint32_t byte) const {
    return static_cast<std::uint32_t>(std::upper_bound(begins_.begin(), begins_.end(), byte) - begins_.begin());
  }

  void add(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t line = first; line <= last; ++line) {
      first_[line] = first_[line] == 0 ? first : std::min(first_[line], first);
      last_[line] = std::max(last_[line], last);
    }
  }

  const SyntaxTree& tree_;
  std::vector<std::uint32_t> begins_{0};  // bytes
  std::vector<std::uint32_t> first_;      // by line; 0: no statement is there
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> code_;  // the line itself, or the first below it that is no comment alone
};

enum class Meant : std::uint8_t { nothing, allowance, unclear };

bool is_blank(std::string_view words) { return words.find_first_not_of(" \t") == std::string_view::npos; }

Meant meaning(std::string_view comment) {
  constexpr std::string_view allowance = "tutti: allow sync";
  if (std::size_t at = comment.find(allowance); at != std::string_view::npos) {
    comment.remove_prefix(at + allowance.size());
    const std::size_t open = comment.find_first_not_of(' ');
    const std::size_t close = comment.rfind(')');
    const bool has_reason = open != std::string_view::npos && comment[open] == '(' && close != std::string_view::npos &&
                            close > open && !is_blank(comment.substr(open + 1, close - open - 1));
    return has_reason ? Meant::allowance : Meant::unclear;
  }
  // One that begins with our name, or allows something in it.
  std::string words(comment);
  for (char& c : words) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::size_t at = words.find("tutti"); at != std::string::npos; at = words.find("tutti", at + 1)) {
    const bool is_first = words.find_first_not_of("# \t") == at;
    const std::size_t colon = words.find_first_not_of(' ', at + 5);
    const bool has_colon = colon != std::string::npos && words[colon] == ':';
    const std::size_t next = colon == std::string::npos ? colon : words.find_first_not_of(": ", colon);
    const bool allows = next != std::string::npos && next > at + 5 && words.compare(next, 5, "allow") == 0;
    if ((is_first && has_colon) || (allows && (is_first || has_colon))) return Meant::unclear;
  }
  return Meant::nothing;
}

// Lines, from 1, whose syncs are meant: those of a statement with the comment on a line of it, or on a line of its own above it.
std::unordered_set<std::uint32_t> allowed_lines(const SyntaxTree& tree, std::vector<Note>& notes) {
  std::unordered_set<std::uint32_t> out;
  std::optional<StatementLines> statements;
  std::set<std::pair<std::uint32_t, std::uint32_t>> meant_lines;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node& node = tree[id];
    const Meant meant = node.kind == Syntax::comment ? meaning(tree.text(id)) : Meant::nothing;
    if (meant == Meant::nothing) continue;
    if (meant == Meant::unclear) {
      notes.push_back({node.line + 1, "this comment allows nothing: '# tutti: allow sync (why)' does, with its reason"});
      continue;
    }
    if (!statements) statements.emplace(tree);
    meant_lines.insert(statements->meant_on(node.line + 1));
  }
  for (const auto& [first, last] : meant_lines) {
    for (std::uint32_t line = first; line <= last; ++line) out.insert(line);
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
