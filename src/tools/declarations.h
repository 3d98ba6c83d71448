// What the public headers declare, read from their text: functions, and the types they take and give.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

struct DeclaredFunction {
  std::string name;        // "add", "At::set", "operator+"
  std::string text;        // "Tensor add(TensorArg a, TensorArg b)": without the caller's Site, which every function takes last
  std::string comment;     // what stands above it, or above those it follows without a gap
  std::string stands_for;  // of an operator: the function it calls
};

struct DeclaredField {
  std::string text;  // "bool keepdims = false"; of an enum: "mean"
  std::string comment;
};
struct DeclaredType {
  std::string name;
  std::string comment;
  bool is_enum = false;
  std::vector<DeclaredField> fields = {};
  std::vector<std::string> constructors = {};  // "Dense(int64_t inputs, int64_t outputs)"
};

struct Declarations {
  std::vector<DeclaredFunction> functions;  // and public members, in order
  std::vector<DeclaredType> types;          // classes with their public fields, and enums
  std::string comment;                      // of the header: its first lines
};

Declarations parse_declarations(std::string_view header);

}  // namespace tutti::tools
