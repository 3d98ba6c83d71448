#include <algorithm>

#include "tutti/base/text.h"
#include "tutti/lint/check.h"
#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {

namespace {

std::string applied(std::string_view source, const std::vector<Edit>& edits) {
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    out += source.substr(at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  return out += source.substr(at);
}

bool parses(std::string_view source) {
  const auto tree = SyntaxTree::parse(source);
  return tree && !(*tree)[tree->root()].is_broken;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::string fixed(std::string_view source, const std::vector<Finding>& findings) {
  std::vector<Edit> edits;
  for (const Finding& finding : findings) edits.insert(edits.end(), finding.fix.begin(), finding.fix.end());
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  edits.erase(std::unique(edits.begin(), edits.end()), edits.end());
  std::uint32_t last = 0;
  std::erase_if(edits, [&](const Edit& edit) {  // those that touch another wait for the next run
    const bool overlaps = edit.begin < last;
    if (!overlaps) last = edit.end;
    return overlaps;
  });
  std::string out = applied(source, edits);
  return parses(source) && !parses(out) ? std::string(source) : out;
}

std::string difference(std::string_view path, std::string_view before, std::string_view after) {
  constexpr std::size_t context = 3;
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  if (before == after) return {};
  // Fixes change lines and add none, so the two have the same number; otherwise all of it is one change.
  const bool is_aligned = old_lines.size() == new_lines.size();
  std::string out = text("--- a/", path, "\n+++ b/", path, "\n");
  const auto show = [&](char mark, std::string_view line) {
    out += mark;
    out += line;
    if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
  };
  const auto differs = [&](std::size_t i) { return !is_aligned || old_lines[i] != new_lines[i]; };
  const std::size_t count = old_lines.size();
  for (std::size_t i = 0; i < count;) {
    if (!differs(i)) {
      ++i;
      continue;
    }
    const std::size_t begin = i < context ? 0 : i - context;
    std::size_t end = i + 1;  // behind the last change of this piece
    for (std::size_t j = i; j < count && j <= end + 2 * context; ++j) {
      if (differs(j)) end = j + 1;
    }
    const std::size_t shown = std::min(count, end + context);
    out += text("@@ -", begin + 1, ",", shown - begin, " +", begin + 1, ",", (is_aligned ? shown : new_lines.size()) - begin,
                " @@\n");
    for (std::size_t j = begin; j < shown;) {
      if (!differs(j)) {
        show(' ', old_lines[j++]);
        continue;
      }
      std::size_t to = j;
      while (to < shown && differs(to)) ++to;
      for (std::size_t k = j; k < to; ++k) show('-', old_lines[k]);
      for (std::size_t k = j; k < (is_aligned ? to : new_lines.size()); ++k) show('+', new_lines[k]);
      j = to;
    }
    i = shown;
  }
  return out;
}

}  // namespace tutti::lint
