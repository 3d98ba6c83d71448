// What is asked of `tutti lint`: the configuration of a project, and the command line above it.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "tools/lint.h"
#include "tutti/lint/finding.h"

namespace tutti::tools {

struct LintSettings {
  std::bitset<64> rules;  // by RuleId
  lint::Confidence least = lint::Confidence::likely;
  std::vector<std::string> excluded;  // patterns of paths
};

// [tool.tutti.lint] of the pyproject.toml in the first path's folder or the nearest above it, then the options. Throws
// std::invalid_argument, with the nearest right word, for what is not known.
LintSettings lint_settings(const LintOptions& options);

// A rule or category, or the error that names the nearest.
std::bitset<64> rules_named(const std::string& name);

}  // namespace tutti::tools
