#include "tools/lint_settings.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>
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

std::bitset<64> all_named(const std::vector<std::string>& names, const std::string& where) {
  std::bitset<64> out;
  for (const std::string& name : names) out |= rules_named(name, where);
  return out;
}

// As it is matched: "./sub/" is "sub".
std::string pattern(std::string written) {
  if (written.starts_with("./")) written.erase(0, 2);
  if (written.size() > 1 && written.ends_with('/')) written.pop_back();
  return written;
}

// The table of that name; null where there is none.
const toml::table* table_in(const toml::table& above, const char* name, const std::string& where) {
  const toml::node* const found = above.get(name);
  if (found != nullptr && !found->is_table()) throw std::invalid_argument(where + ": a table was expected");
  return found == nullptr ? nullptr : found->as_table();
}

[[noreturn]] void refuse_key(const std::string& where, const std::string& key, const std::vector<std::string>& known) {
  throw std::invalid_argument(text(where, " has no '", printable(key), "'", meant(key, known)));
}

void read_table(const toml::table& table, const std::string& where, LintSettings& settings, std::bitset<64>& ignored) {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    const std::string at = text(where, ".", name, ": ");
    if (name == "select") {
      settings.rules = all_named(words(value, at), at);
    } else if (name == "ignore") {
      ignored = all_named(words(value, at), at);
    } else if (name == "exclude") {
      for (std::string& each : words(value, at)) settings.excluded.patterns.push_back(pattern(std::move(each)));
    } else if (name == "min-confidence") {
      if (!value.is_string()) throw std::invalid_argument(at + "a string was expected");
      settings.least = confidence_named(value.value_or(std::string()), at);
    } else {
      refuse_key(where, name, {"select", "ignore", "exclude", "min-confidence"});
    }
  }
}

}  // namespace

std::bitset<64> rules_named(const std::string& name, const std::string& where) {
  std::bitset<64> out;
  std::vector<std::string> known;
  for (const lint::Rule& rule : lint::rules()) {
    if (rule.name == name || rule.category == name || name == "all") out.set(static_cast<std::size_t>(rule.id));
    known.emplace_back(rule.name);
    if (std::find(known.begin(), known.end(), rule.category) == known.end()) known.emplace_back(rule.category);
  }
  if (out.none())
    throw std::invalid_argument(text(where, "no rule or category is named '", printable(name), "'", meant(name, known)));
  return out;
}

LintSettings lint_settings(const LintOptions& options) {
  LintSettings settings;
  settings.rules = rules_named("all");
  std::bitset<64> ignored;
  settings.excluded.covers_named = options.excludes_named;
  if (const fs::path file = project_file(options); !file.empty()) {
    settings.excluded.folder = file.parent_path();
    const std::string where = file.string() + ": ";
    try {
      const toml::table project = toml::parse_file(file.string());
      const toml::table* const tool = table_in(project, "tool", where + "tool");
      const toml::table* const ours = tool == nullptr ? nullptr : table_in(*tool, "tutti", where + "tool.tutti");
      for (const auto& [key, value] : ours == nullptr ? toml::table() : *ours) {
        if (key != "lint") refuse_key(where + "tool.tutti", std::string(key.str()), {"lint"});
      }
      const std::string at = where + "tool.tutti.lint";
      if (const toml::table* const table = ours == nullptr ? nullptr : table_in(*ours, "lint", at); table != nullptr)
        read_table(*table, at, settings, ignored);
    } catch (const toml::parse_error& error) {
      throw std::invalid_argument(text(where, "line ", error.source().begin.line, ": ", error.description()));
    }
  }
  if (!options.select.empty()) {
    settings.rules = all_named(options.select, "--select: ");
    ignored.reset();
  }
  if (!options.ignore.empty()) ignored |= all_named(options.ignore, "--ignore: ");
  settings.rules &= ~ignored;
  if (!options.min_confidence.empty()) settings.least = confidence_named(options.min_confidence, "--min-confidence: ");
  return settings;
}

}  // namespace tutti::tools
