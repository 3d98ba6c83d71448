// `tutti lint`: Python sources that make the host wait for a GPU, found without running them.
#pragma once

#include <string>
#include <vector>

namespace tutti::tools {

struct LintOptions {
  std::vector<std::string> paths;
  std::string explain;              // a rule
  std::string page;                 // a rule, as a page of docs/lint
  std::string format = "text";      // text, json, sarif, github
  std::vector<std::string> select;  // rules or categories; empty: as the configuration says, else all
  std::vector<std::string> ignore;
  std::string trace;           // a folder, or a file of one: what was measured; empty: nothing
  std::string min_confidence;  // empty: as the configuration says, else likely
  bool fixes = false;
  bool shows_difference = false;
  bool excludes_named = false;
  bool exits_zero = false;
  bool lists_rules = false;
};

inline constexpr const char* lint_example =
    "Folders are searched for *.py; hidden and ignored ones and virtual environments\n"
    "are left out. Configuration: [tool.tutti.lint] of pyproject.toml. A sync that is\n"
    "meant: # tutti: allow sync (reason). Exit status: 0; 1 with findings; 2 for\n"
    "mistakes on the command line or in the configuration, and for named files that\n"
    "are not Python.\n\n"
    "Example:\n"
    "  tutti lint --format github src train.py";

// Returns the exit status.
int run_lint(const LintOptions& options);

}  // namespace tutti::tools
