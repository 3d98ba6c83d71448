#include "tools/function_docs.h"

#include <algorithm>
#include <cctype>

namespace tutti::tools {

namespace {

const std::vector<Declarations>& all_declarations() {
  static const std::vector<Declarations> all = [] {
    std::vector<Declarations> out;
    for (const HeaderText& header : public_headers()) {
      out.push_back(parse_declarations(header.text));
      if (!header.has_functions) out.back().functions.clear();
    }
    return out;
  }();
  return all;
}

const DeclaredType* find_type(std::string_view name) {
  for (const Declarations& header : all_declarations()) {
    for (const DeclaredType& type : header.types) {
      if (type.name == name) return &type;
    }
  }
  return nullptr;
}

// The types that a text names, and those that they name.
void add_types(std::string_view text, std::vector<DeclaredType>& out) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_part);
    const std::string_view word(at, end);
    at = std::find_if(end, text.end(), is_part);
    const DeclaredType* const type = find_type(word);
    if (type == nullptr || type->fields.empty()) continue;
    if (std::any_of(out.begin(), out.end(), [&](const DeclaredType& each) { return each.name == word; })) continue;
    out.push_back(*type);
    if (type->is_enum) continue;
    for (const DeclaredField& field : type->fields) add_types(field.text, out);
  }
}

// What stands above one of its forms; else what is said of its class, or of all that its header declares.
std::string description_of(std::string_view function) {
  std::string of_header;
  for (const Declarations& header : all_declarations()) {
    for (const DeclaredFunction& each : header.functions) {
      if (each.name != function) continue;
      if (!each.comment.empty()) return each.comment;
      if (of_header.empty()) of_header = header.comment;
    }
  }
  const DeclaredType* const type = find_type(function.substr(0, function.find("::")));
  return type != nullptr && !type->comment.empty() ? type->comment : of_header;
}

}  // namespace

FunctionDocs docs_of(std::string_view function) {
  FunctionDocs out;
  out.description = description_of(function);
  const std::string called = std::string(function) + "::operator()";  // of a class that is one
  for (const Declarations& header : all_declarations()) {
    for (const DeclaredFunction& each : header.functions) {
      if (each.name == function || each.name == called) out.declarations.push_back(each.text);
      if (each.stands_for != function) continue;
      const std::string sign = each.name.substr(std::string_view("operator").size());
      if (std::find(out.operators.begin(), out.operators.end(), sign) == out.operators.end()) out.operators.push_back(sign);
    }
  }
  if (const DeclaredType* const type = find_type(function)) {
    out.declarations.insert(out.declarations.begin(), type->constructors.begin(), type->constructors.end());
    if (type->constructors.empty()) out.declarations.insert(out.declarations.begin(), "struct " + type->name);
  }
  for (const std::string& each : out.declarations) add_types(each, out.types);
  for (DeclaredType& type : out.types) {
    if (type.name == function) type.comment.clear();  // it is the description
  }
  return out;
}

std::vector<std::string> declared_functions() {
  std::vector<std::string> out;
  for (const Declarations& header : all_declarations()) {
    for (const DeclaredFunction& each : header.functions) {
      const bool is_operator = each.name.find("operator") != std::string::npos;
      if (!is_operator && std::find(out.begin(), out.end(), each.name) == out.end()) out.push_back(each.name);
    }
  }
  return out;
}

}  // namespace tutti::tools
