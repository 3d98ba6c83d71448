// What is asked of `tutti lint`: the configuration of a project, and the command line above it.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "tools/lint.h"
#include "tools/lint_files.h"
#include "tutti/lint/finding.h"

namespace tutti::tools {

struct LintSettings {
  std::bitset<64> rules;  // by RuleId
  lint::Confidence least = lint::Confidence::likely;
  Exclusion excluded;
};

// [tool.tutti.lint] of the pyproject.toml in the first path's folder or the nearest above it, then the options. Throws
// std::invalid_argument, with the nearest right word, for what is not known.
LintSettings lint_settings(const LintOptions& options);

// A rule or category, or the error that names the nearest, behind `where`.
std::bitset<64> rules_named(const std::string& name, const std::string& where = {});

}  // namespace tutti::tools
