#include "tools/ops.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/function_docs.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/ops/catalogue.h"
#include "tutti/tensor/dtype.h"

namespace tutti::tools {

namespace {

constexpr std::array kinds{BackendKind::cpu, BackendKind::sim, BackendKind::cuda};

// Views, copies and the like run on every backend; kernels are there only where one was built.
bool is_built(BackendKind kind) {
  const std::vector<const OpRow*> rows = list_ops();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const OpRow* row) { return row->kind == OpKind::kernel && !row->dtypes_on(kind).empty(); });
}

bool matches(const CatalogueEntry& entry, std::string_view name) {
  if (name.empty() || entry.name == name) return true;
  const std::vector<std::string> behind = functions_behind(name);
  if (std::find(behind.begin(), behind.end(), entry.name) != behind.end()) return true;
  const std::vector<const OpRow*> rows = ops_of(entry);
  return std::any_of(rows.begin(), rows.end(), [&](const OpRow* row) { return row->name == name; });
}

// Declared beside those in the catalogue: settings, facts about a mesh.
std::vector<std::string> other_functions() {
  std::vector<std::string> out = declared_functions();
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) std::erase(out, entry.name);
  }
  return out;
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

// The first line at one indent, those that follow at another.
void print_hanging(const std::string& text, std::size_t first, std::size_t rest) {
  std::cout << std::string(first, ' ') << paragraph(text, rest).substr(rest);
}

void print_docs(std::string_view name) {
  const FunctionDocs docs = docs_of(name);
  std::cout << name;
  for (const std::string& sign : docs.operators) std::cout << ", " << sign;
  std::cout << '\n';
  const char* between = "";
  for (const FunctionForms& forms : docs.forms) {
    std::cout << std::exchange(between, "\n") << paragraph(forms.comment, 2);
    for (const std::string& each : forms.declarations) print_hanging(each, 4, 8);
  }
  for (const DeclaredType& type : docs.types) {
    const std::string title = (type.is_enum ? "enum " : "struct ") + type.name;
    std::cout << '\n';
    print_hanging(type.comment.empty() ? title : title + "  // " + type.comment, 2, 6);
    for (const DeclaredField& field : type.fields)
      print_hanging(field.comment.empty() ? field.text : field.text + "  // " + field.comment, 4, 8);
  }
}

void print_entry(const CatalogueEntry& entry, const CatalogueSection& section) {
  const auto line = [](const char* what, const std::string& text) {
    const std::string block = paragraph(text, 12);
    std::cout << "  " << std::left << std::setw(10) << what << block.substr(12);
  };
  print_docs(entry.name);
  std::cout << '\n';
  line("section", std::string(section.title));
  if (section.takes_tensors) {
    line("ops", entry.ops.empty() ? "none: a view, or the host's own work" : std::string(entry.ops));
    for (const BackendKind kind : kinds) {
      const DTypes dtypes = dtypes_on(entry, kind);
      if (is_built(kind)) line(to_string(kind), dtypes.empty() ? "no kernel: the CPU runs it" : to_string(dtypes));
    }
  }
  line("syncs", entry.syncs.empty() ? "no" : text("yes: the host waits for ", entry.syncs));
  if (section.takes_tensors) line("gradient", gradient_of(entry));
}

nlohmann::ordered_json json_of(std::string_view name) {
  using nlohmann::ordered_json;
  const FunctionDocs docs = docs_of(name);
  ordered_json types = ordered_json::array();
  std::vector<std::string> declarations;
  for (const FunctionForms& forms : docs.forms)
    declarations.insert(declarations.end(), forms.declarations.begin(), forms.declarations.end());
  for (const DeclaredType& type : docs.types) {
    ordered_json fields = ordered_json::array();
    for (const DeclaredField& field : type.fields)
      fields.push_back({{"declaration", field.text}, {"description", field.comment}});
    types.push_back({{"name", type.name}, {"is_enum", type.is_enum}, {"description", type.comment}, {"fields", fields}});
  }
  return {{"name", name},
          {"description", description_of(docs)},
          {"declarations", declarations},
          {"operators", docs.operators},
          {"types", types}};
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
      const auto dtypes = [&](BackendKind kind) { return section.takes_tensors ? dtypes_on(entry, kind) : DTypes{}; };
      ordered_json function = json_of(entry.name);
      function.update({{"section", section.title},
                       {"takes_tensors", section.takes_tensors},
                       {"ops", ops},
                       {"dtypes", by_backend(dtypes)},
                       {"syncs", entry.syncs.empty() ? ordered_json(nullptr) : ordered_json(entry.syncs)},
                       {"gradient", section.takes_tensors ? ordered_json(gradient_of(entry)) : ordered_json(nullptr)}});
      functions.push_back(std::move(function));
    }
  }
  ordered_json ops = ordered_json::array();
  for (const OpRow* row : list_ops()) {
    ops.push_back({{"name", row->name},
                   {"dtypes", by_backend([&](BackendKind kind) { return row->dtypes_on(kind); })},
                   {"gradient", row->gradient.apply != nullptr}});
  }
  ordered_json others = ordered_json::array();
  for (const std::string& each : other_functions()) {
    if (name.empty() || each == name) others.push_back(json_of(each));
  }
  ordered_json all{{"functions", functions}, {"others", others}};
  if (name.empty()) all["ops"] = ops;
  std::cout << all.dump(2) << '\n';
}

}  // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names = declared_functions();
  for (const OpRow* row : list_ops()) names.push_back(row->name);
  return names;
}

bool print_ops(std::string_view name, bool as_json) {
  const std::vector<std::string> others = other_functions();
  const bool is_other = std::find(others.begin(), others.end(), name) != others.end();
  bool is_known = name.empty() || is_other;
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) is_known = is_known || matches(entry, name);
  }
  if (!is_known) return false;
  if (as_json) {
    print_json(name);
  } else if (name.empty()) {
    print_list();
  } else if (is_other) {
    print_docs(name);
  } else {
    const char* between = "";
    for (const CatalogueSection& section : catalogue()) {
      for (const CatalogueEntry& entry : section.entries) {
        if (!matches(entry, name)) continue;
        std::cout << std::exchange(between, "\n");
        print_entry(entry, section);
      }
    }
  }
  return true;
}

}  // namespace tutti::tools
