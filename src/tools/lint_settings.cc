#include "tools/lint_settings.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "tools/suggestion.h"
#include "tutti/base/text.h"

namespace tutti::tools {

namespace {

namespace fs = std::filesystem;

std::string meant(std::string_view typed, const std::vector<std::string>& known) {
  const auto close = nearest(typed, known);
  return close.empty() ? std::string() : text("; did you mean '", close[0], "'?");
}

fs::path project_file(const LintOptions& options) {
  std::error_code failed;
  fs::path at = fs::absolute(options.paths.empty() ? "." : options.paths[0], failed).lexically_normal();
  if (!fs::is_directory(at, failed)) at = at.parent_path();
  for (; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / "pyproject.toml", failed)) return at / "pyproject.toml";
    if (at == at.parent_path()) break;
  }
  return {};
}

lint::Confidence confidence_named(const std::string& name, const std::string& where) {
  for (const auto each : {lint::Confidence::possible, lint::Confidence::likely, lint::Confidence::certain}) {
    if (lint::to_string(each) == name) return each;
  }
  throw std::invalid_argument(text(where, "'", printable(name), "' is no confidence; write possible, likely or certain"));
}

std::vector<std::string> words(const toml::node& node, const std::string& where) {
  std::vector<std::string> out;
  const toml::array* const list = node.as_array();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto word = (*list)[i].value<std::string>();
    if (!word) throw std::invalid_argument(where + "a list of strings was expected");
    out.push_back(*word);
  }
  if (list == nullptr) throw std::invalid_argument(where + "a list of strings was expected");
  return out;
}

std::bitset<64> all_named(const std::vector<std::string>& names) {
  std::bitset<64> out;
  for (const std::string& name : names) out |= rules_named(name);
  return out;
}

}  // namespace

std::bitset<64> rules_named(const std::string& name) {
  std::bitset<64> out;
  std::vector<std::string> known;
  for (const lint::Rule& rule : lint::rules()) {
    if (rule.name == name || rule.category == name || name == "all") out.set(static_cast<std::size_t>(rule.id));
    known.emplace_back(rule.name);
    if (std::find(known.begin(), known.end(), rule.category) == known.end()) known.emplace_back(rule.category);
  }
  if (out.none()) throw std::invalid_argument(text("no rule or category is named '", printable(name), "'", meant(name, known)));
  return out;
}

LintSettings lint_settings(const LintOptions& options) {
  LintSettings settings;
  settings.rules = rules_named("all");
  std::bitset<64> ignored;
  if (const fs::path file = project_file(options); !file.empty()) {
    const std::string where = file.string() + ": ";
    try {
      const toml::table project = toml::parse_file(file.string());
      if (const toml::table* const table = project.at_path("tool.tutti.lint").as_table(); table != nullptr) {
        for (const auto& [key, value] : *table) {
          const std::string name(key.str());
          const std::string at = text(where, "tool.tutti.lint.", name, ": ");
          if (name == "select") {
            settings.rules = all_named(words(value, at));
          } else if (name == "ignore") {
            ignored = all_named(words(value, at));
          } else if (name == "exclude") {
            settings.excluded = words(value, at);
          } else if (name == "min-confidence") {
            settings.least = confidence_named(value.value_or(std::string()), at);
          } else {
            throw std::invalid_argument(text(where, "tool.tutti.lint has no '", printable(name), "'",
                                             meant(name, {"select", "ignore", "exclude", "min-confidence"})));
          }
        }
      }
    } catch (const toml::parse_error& error) {
      throw std::invalid_argument(text(where, "line ", error.source().begin.line, ": ", error.description()));
    }
  }
  if (!options.select.empty()) {
    settings.rules = all_named(options.select);
    ignored.reset();
  }
  if (!options.ignore.empty()) ignored |= all_named(options.ignore);
  settings.rules &= ~ignored;
  if (!options.min_confidence.empty()) settings.least = confidence_named(options.min_confidence, "--min-confidence: ");
  return settings;
}

}  // namespace tutti::tools
