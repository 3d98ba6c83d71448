// One Python source, checked: the entry to this module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tutti/lint/finding.h"

namespace tutti::lint {

struct Note {
  std::uint32_t line = 0;  // 0: of the whole file
  std::string text;
};

struct Report {
  std::vector<Finding> findings;  // in the order of the source; without those that a comment allows
  std::vector<Note> notes;        // what was not understood
  std::size_t allowed = 0;
  std::unordered_set<std::uint32_t> allowed_lines;

  [[nodiscard]] bool is_allowed(const Finding& finding) const;
};

// Sources that mention neither PyTorch nor JAX are not even parsed.
Report check(std::string_view source);

// The source with the fixes of these findings, in the order of the source; what would not parse afterwards is left as it was.
std::string fixed(std::string_view source, const std::vector<Finding>& findings);

// As `diff -u` shows it; empty where nothing differs.
std::string difference(std::string_view path, std::string_view before, std::string_view after);

}  // namespace tutti::lint
