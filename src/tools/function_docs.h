// What the public headers say about a function. Their text is in the command: headers.cmake puts it there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/declarations.h"

namespace tutti::tools {

struct HeaderText {
  std::string_view text;
  bool has_functions;  // otherwise only its types are told, where functions of other headers take or give them
};
const std::vector<HeaderText>& public_headers();

struct FunctionForms {
  std::string comment;  // that stands above all of them
  std::vector<std::string> declarations;
};

struct FunctionDocs {
  std::vector<FunctionForms> forms;
  std::vector<std::string> operators;  // that stand for it: "+"
  std::vector<DeclaredType> types;     // with fields or values, that it takes or gives
};

// Without forms: no header has it.
FunctionDocs docs_of(std::string_view function);
// The comments of all its forms.
std::string description_of(const FunctionDocs& docs);
// That the operator stands for: subtract and negative behind "-".
std::vector<std::string> functions_behind(std::string_view sign);
// Every function's and public member's name, but for operators, in the order of the headers.
std::vector<std::string> declared_functions();

}  // namespace tutti::tools
