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

// What is said of its class, or of all that its header declares.
std::string comment_around(std::string_view function, const Declarations& header) {
  const DeclaredType* const type = find_type(function.substr(0, function.find("::")));
  return type != nullptr && !type->comment.empty() ? type->comment : header.comment;
}

// With those that have the same comment.
void add_form(FunctionDocs& docs, const std::string& declaration, const std::string& comment) {
  const auto same = [&](const FunctionForms& each) { return each.comment == comment; };
  auto at = std::find_if(docs.forms.begin(), docs.forms.end(), same);
  if (at == docs.forms.end()) at = docs.forms.insert(at, {comment, {}});
  at->declarations.push_back(declaration);
}

constexpr std::string_view operator_word = "operator";

}  // namespace

FunctionDocs docs_of(std::string_view function) {
  FunctionDocs out;
  const std::string called = std::string(function) + "::operator()";  // of a class that is one
  std::vector<const DeclaredFunction*> found;
  std::string comment;  // of those that have none: that of the first that has one
  std::string around;
  for (const Declarations& header : all_declarations()) {
    for (const DeclaredFunction& each : header.functions) {
      if (each.name == function || each.name == called) {
        found.push_back(&each);
        if (comment.empty()) comment = each.comment;
        if (around.empty()) around = comment_around(function, header);
      }
      if (each.stands_for != function) continue;
      const std::string sign = each.name.substr(operator_word.size());
      if (std::find(out.operators.begin(), out.operators.end(), sign) == out.operators.end()) out.operators.push_back(sign);
    }
  }
  if (const DeclaredType* const type = find_type(function)) {
    for (const std::string& each : type->constructors) add_form(out, each, type->comment);
    if (type->constructors.empty()) add_form(out, "struct " + type->name, type->comment);
  }
  if (comment.empty()) comment = around;
  for (const DeclaredFunction* each : found) add_form(out, each->text, each->comment.empty() ? comment : each->comment);
  for (const FunctionForms& forms : out.forms) {
    for (const std::string& each : forms.declarations) add_types(each, out.types);
  }
  for (DeclaredType& type : out.types) {
    if (type.name == function) type.comment.clear();  // it stands above
  }
  return out;
}

std::string description_of(const FunctionDocs& docs) {
  std::string out;
  for (const FunctionForms& form : docs.forms) {
    if (!form.comment.empty()) out += (out.empty() ? "" : " ") + form.comment;
  }
  return out;
}

std::vector<std::string> functions_behind(std::string_view sign) {
  const std::string name = std::string(operator_word) + std::string(sign);
  std::vector<std::string> out;
  for (const Declarations& header : all_declarations()) {
    for (const DeclaredFunction& each : header.functions) {
      if (each.stands_for.empty() || each.name != name) continue;
      if (std::find(out.begin(), out.end(), each.stands_for) == out.end()) out.push_back(each.stands_for);
    }
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
