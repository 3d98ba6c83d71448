#include "tools/lint.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tools/lint_files.h"
#include "tools/lint_measured.h"
#include "tools/lint_output.h"
#include "tools/lint_settings.h"
#include "tools/suggestion.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/lint/check.h"
#include "tutti/lint/syntax_tree.h"

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

// None where it cannot be read.
std::optional<std::string> contents(const std::filesystem::path& path) {
  if (path == standard_input) return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  try {
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  } catch (const std::ios_base::failure&) {
    return {};
  }
}

void finish_output() {
  std::cout.flush();
  if (!std::cout) throw std::runtime_error("the output could not be written");
}

void write_back(const std::filesystem::path& path, const std::string& source) {
  WholeFile file(path.string());
  file.write(source);
  file.finish();
}

// What else than Python a named file is; empty: nothing else.
std::string why_not_python(const std::filesystem::path& path, const std::string& source) {
  const std::size_t begin = source.find_first_not_of(" \t\r\n");
  const bool is_input = path == standard_input;
  const bool is_notebook = path.extension() == ".ipynb" || (is_input && begin != std::string::npos && source[begin] == '{' &&
                                                            source.find("\"nbformat\"") != std::string::npos);
  if (is_notebook) return "a notebook; `jupyter nbconvert --to script` makes one that can be read";
  const bool has_name = path.extension() == ".py" || path.extension() == ".pyi" || path.extension() == ".pyw";
  const std::string_view first = std::string_view(source).substr(0, source.find('\n'));
  if (is_input || has_name || (first.starts_with("#!") && first.find("python") != std::string_view::npos)) return {};
  const auto tree = lint::SyntaxTree::parse(source);
  const bool parses = tree && !(*tree)[tree->root()].is_broken && source.find('\0') == std::string::npos;
  return parses ? "" : "it does not parse, nor does its name end with .py";
}

std::string why_none(const std::vector<std::string>& paths, const FoundFiles& found) {
  if (!found.paths.empty() || !found.unread_folders.empty()) return {};
  const std::string what = paths.size() == 1 ? text("'", printable(paths[0]), "'") : "what was named";
  if (found.excluded == 0) return text("none is in ", what);
  const bool is_folder = paths.size() == 1 && std::filesystem::is_directory(paths[0]);
  return text(is_folder ? "what is in " : "", what, " is excluded");
}

// As patch and git apply take it: from here, or from the root.
std::string path_in_difference(const std::filesystem::path& path) {
  if (path == standard_input) return "<stdin>";
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  const std::filesystem::path below = whole.lexically_relative(std::filesystem::current_path());
  return below.empty() || *below.begin() == ".." ? whole.relative_path().string() : below.string();
}

// What a difference does not show.
void print_rest(std::ostream& out, const LintRun& run) {
  std::size_t findings = 0;
  std::size_t fixable = 0;
  for (const LintedFile& file : run.files) {
    for (const lint::Note& note : file.report.notes) out << told(file, note);
    for (const lint::Finding& finding : file.report.findings) {
      ++findings;
      fixable += finding.fix.empty() ? 0 : 1;
    }
  }
  if (run.files_read == 0 && !run.why_none.empty()) out << paragraph(text("No Python source was read: ", run.why_none, "."));
  if (findings == 1) out << "tutti: 1 finding, which --fix " << (fixable == 1 ? "rewrites\n" : "does not rewrite\n");
  if (findings > 1) {
    out << "tutti: " << findings << " findings, " << (fixable == 0 ? "none" : text(fixable)) << " of which --fix rewrites\n";
  }
}

std::string shown_name(const std::filesystem::path& path) {
  return path == standard_input ? "<stdin>" : path.lexically_normal().string();
}

void note_unread(LintRun& run, const std::filesystem::path& path, std::string why) {
  LintedFile& file = run.files.emplace_back();
  file.path = shown_name(path);
  file.report.notes.push_back({0, std::move(why)});
  ++run.unread;
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
  const std::vector<std::string> named = options.paths.empty() ? std::vector<std::string>{"."} : options.paths;
  const FoundFiles found = python_files(named, settings.excluded);
  run.why_none = why_none(named, found);
  for (const auto& folder : found.unread_folders) note_unread(run, folder, "the folder cannot be read");
  for (const auto& path : found.paths) {
    std::optional<std::string> source = contents(path);
    if (!source) {
      note_unread(run, path, "cannot be read");
      continue;
    }
    if (const std::string why = why_not_python(path, *source); !why.empty()) {
      note_unread(run, path, text("not Python source: ", why));
      continue;
    }
    LintedFile file{.path = shown_name(path), .source = std::move(*source), .report = {}, .measured = {}};
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
        std::cout << lint::difference(path_in_difference(path), file.source, better);
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
  finish_output();
  if (options.shows_difference) {
    print_rest(std::cerr, run);
  } else if (!run.why_none.empty() && (options.format == "github" || options.format == "sarif")) {
    std::cerr << paragraph(text("tutti: warning: No Python source was read: ", run.why_none, "."));
  }
  if (run.unread > 0) return misused;
  return has_any && !options.exits_zero ? has_findings : 0;
}

}  // namespace

int run_lint(const LintOptions& options) {
  try {
    if (!options.explain.empty()) {
      std::cout << lint::explanation(known_rule(options.explain));
      finish_output();
      return 0;
    }
    if (!options.page.empty()) {
      std::cout << lint::page(known_rule(options.page));
      finish_output();
      return 0;
    }
    if (options.lists_rules) {
      list_rules();
      finish_output();
      return 0;
    }
    return lint_files(options);
  } catch (const std::exception& error) {
    std::cerr << paragraph(text("tutti: error: ", error.what()));
    return misused;
  }
}

}  // namespace tutti::tools
