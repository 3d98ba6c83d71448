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

struct FunctionDocs {
  std::string description;
  std::vector<std::string> declarations;
  std::vector<std::string> operators;  // that stand for it: "+"
  std::vector<DeclaredType> types;     // with fields or values, that it takes or gives
};

// Of all its forms; without declarations: no header has it.
FunctionDocs docs_of(std::string_view function);
// Every function's and public member's name, but for operators, in the order of the headers.
std::vector<std::string> declared_functions();

}  // namespace tutti::tools
