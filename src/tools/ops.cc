#include "tools/ops.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/ops/catalogue.h"
#include "tutti/tensor/dtype.h"

namespace tutti::tools {

namespace {

constexpr std::array kinds{BackendKind::cpu, BackendKind::sim, BackendKind::cuda};

bool is_built(BackendKind kind) {
  const std::vector<const OpRow*> rows = list_ops();
  return std::any_of(rows.begin(), rows.end(), [&](const OpRow* row) { return !row->dtypes_on(kind).empty(); });
}

bool matches(const CatalogueEntry& entry, std::string_view name) {
  if (name.empty() || entry.name == name) return true;
  const std::vector<const OpRow*> rows = ops_of(entry);
  return std::any_of(rows.begin(), rows.end(), [&](const OpRow* row) { return row->name == name; });
}

void print_list() {
  for (const CatalogueSection& section : catalogue()) {
    std::cout << section.title << '\n';
    std::string names;
    for (const CatalogueEntry& entry : section.entries) {
      if (!names.empty()) names += ", ";
      names += entry.name;
      if (!entry.syncs.empty()) names += "*";
    }
    std::cout << paragraph(names, 2);
  }
  std::cout << "\n* the host waits. More about one: tutti ops NAME\n";
}

void print_entry(const CatalogueEntry& entry, std::string_view section) {
  const auto line = [](const char* what, const std::string& text) {
    const std::string block = paragraph(text, 12);
    std::cout << "  " << std::left << std::setw(10) << what << block.substr(12);
  };
  std::cout << entry.name << '\n';
  line("section", std::string(section));
  line("ops", entry.ops.empty() ? "none: a view, or the host's own work" : std::string(entry.ops));
  for (const BackendKind kind : kinds) {
    const DTypes dtypes = dtypes_on(entry, kind);
    if (is_built(kind)) line(to_string(kind), dtypes.empty() ? "no kernel: the CPU runs it" : to_string(dtypes));
  }
  line("syncs", entry.syncs.empty() ? "no" : text("yes: the host waits for ", entry.syncs));
  line("gradient", has_gradient(entry) ? "yes" : "no");
}

nlohmann::ordered_json names_of(DTypes dtypes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtypes.contains(dtype)) out.push_back(to_string(dtype));
  }
  return out;
}

// {"cpu": [...], "sim": [...]}, without the backends that are not in this build.
template <class On>
nlohmann::ordered_json by_backend(const On& on) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const BackendKind kind : kinds) {
    if (is_built(kind)) out[to_string(kind)] = names_of(on(kind));
  }
  return out;
}

void print_json(std::string_view name) {
  using nlohmann::ordered_json;
  ordered_json functions = ordered_json::array();
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) {
      if (!matches(entry, name)) continue;
      ordered_json ops = ordered_json::array();
      for (const OpRow* row : ops_of(entry)) ops.push_back(row->name);
      functions.push_back({{"name", entry.name},
                           {"section", section.title},
                           {"ops", ops},
                           {"dtypes", by_backend([&](BackendKind kind) { return dtypes_on(entry, kind); })},
                           {"syncs", entry.syncs.empty() ? ordered_json(nullptr) : ordered_json(entry.syncs)},
                           {"gradient", has_gradient(entry)}});
    }
  }
  ordered_json ops = ordered_json::array();
  for (const OpRow* row : list_ops()) {
    ops.push_back({{"name", row->name},
                   {"dtypes", by_backend([&](BackendKind kind) { return row->dtypes_on(kind); })},
                   {"gradient", row->gradient != nullptr}});
  }
  ordered_json all{{"functions", functions}};
  if (name.empty()) all["ops"] = ops;
  std::cout << all.dump(2) << '\n';
}

}  // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) names.emplace_back(entry.name);
  }
  for (const OpRow* row : list_ops()) names.push_back(row->name);
  return names;
}

bool print_ops(std::string_view name, bool as_json) {
  bool is_known = name.empty();
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) is_known = is_known || matches(entry, name);
  }
  if (!is_known) return false;
  if (as_json) {
    print_json(name);
  } else if (name.empty()) {
    print_list();
  } else {
    for (const CatalogueSection& section : catalogue()) {
      for (const CatalogueEntry& entry : section.entries) {
        if (matches(entry, name)) print_entry(entry, section.title);
      }
    }
  }
  return true;
}

}  // namespace tutti::tools
