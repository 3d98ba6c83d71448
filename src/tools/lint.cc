#include "tools/lint.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tools/lint_files.h"
#include "tools/lint_measured.h"
#include "tools/lint_output.h"
#include "tools/lint_settings.h"
#include "tools/suggestion.h"
#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/lint/check.h"

namespace tutti::tools {

namespace {

constexpr int has_findings = 1;
constexpr int misused = 2;

const lint::Rule& known_rule(const std::string& name) {
  if (const lint::Rule* const rule = lint::find_rule(name); rule != nullptr) return *rule;
  std::vector<std::string> known;
  for (const lint::Rule& each : lint::rules()) known.emplace_back(each.name);
  const auto close = nearest(name, known);
  throw std::invalid_argument(
      text("no rule is named '", printable(name), "'", close.empty() ? "" : text("; did you mean '", close[0], "'?")));
}

void list_rules() {
  std::string_view category;
  for (const lint::Rule& rule : lint::rules()) {
    if (rule.category != std::exchange(category, rule.category)) std::cout << rule.category << '\n';
    std::cout << "  " << rule.name << std::string(rule.name.size() < 20 ? 20 - rule.name.size() : 1, ' ') << rule.title
              << (rule.has_fix ? " *" : "") << '\n';
  }
  std::cout << "\n* --fix rewrites what is surely the same. More: tutti lint --explain RULE\n";
}

std::string contents(const std::filesystem::path& path) {
  if (path == standard_input) return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(text("'", printable(path.string()), "' cannot be read"));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_back(const std::filesystem::path& path, const std::string& source) {
  WholeFile file(path.string());
  file.write(source);
  file.finish();
}

int lint_files(const LintOptions& options) {
  const bool reads_input = std::find(options.paths.begin(), options.paths.end(), standard_input) != options.paths.end();
  if (reads_input && options.fixes && !options.shows_difference)
    throw std::invalid_argument("what comes from standard input cannot be rewritten; --diff shows what --fix would do");
  const LintSettings settings = lint_settings(options);
  std::optional<tracing::TraceReport> trace;
  if (!options.trace.empty()) trace = read_measurements(options.trace);
  const lint::Confidence least = trace ? lint::Confidence::possible : settings.least;
  LintRun run;
  for (const auto& path :
       python_files(options.paths.empty() ? std::vector<std::string>{"."} : options.paths, settings.excluded)) {
    LintedFile file{.path = path == standard_input ? "<stdin>" : path.lexically_normal().string(),
                    .source = contents(path),
                    .report = {},
                    .measured = {}};
    ++run.files_read;
    run.lines_read += static_cast<std::size_t>(std::count(file.source.begin(), file.source.end(), '\n'));
    const auto check = [&] {
      file.report = lint::check(file.source);
      std::erase_if(file.report.findings, [&](const lint::Finding& finding) {
        return !settings.rules.test(static_cast<std::size_t>(finding.rule)) || finding.confidence < least;
      });
    };
    check();
    if (options.fixes || options.shows_difference) {
      const std::string better = lint::fixed(file.source, file.report.findings);
      if (options.shows_difference) {
        std::cout << lint::difference(file.path, file.source, better);
      } else if (better != file.source) {
        const std::size_t before = file.report.findings.size();
        write_back(path, better);
        file.source = better;
        check();
        run.fixed += before - std::min(before, file.report.findings.size());
      }
    }
    if (!file.report.findings.empty() || !file.report.notes.empty() || file.report.allowed > 0 ||
        (trace && is_measured(*trace, file.path)))
      run.files.push_back(std::move(file));
  }
  if (trace) add_measurements(run, *trace, settings);
  const bool has_any =
      std::any_of(run.files.begin(), run.files.end(), [](const LintedFile& file) { return !file.report.findings.empty(); });
  if (!options.shows_difference) print_lint(std::cout, run, options.format);
  std::cout.flush();
  if (!std::cout) throw std::runtime_error("the output could not be written");
  return has_any && !options.exits_zero ? has_findings : 0;
}

}  // namespace

int run_lint(const LintOptions& options) {
  try {
    if (!options.explain.empty()) {
      std::cout << lint::explanation(known_rule(options.explain));
      return 0;
    }
    if (!options.page.empty()) {
      std::cout << lint::page(known_rule(options.page));
      return 0;
    }
    if (options.lists_rules) {
      list_rules();
      return 0;
    }
    return lint_files(options);
  } catch (const std::exception& error) {
    std::cerr << "tutti: error: " << error.what() << '\n';
    return misused;
  }
}

}  // namespace tutti::tools
