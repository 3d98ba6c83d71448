// Where in the user's own code a wait came from, told from its stack.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/trace/trace_file.h"

namespace tutti::tracing {

struct Place {
  std::string file;        // or, where no line is known, the module
  std::uint32_t line = 0;  // 0: not known
  std::string function;
  std::string source;      // the line, as it was when the program ran; empty: not known
  std::string expression;  // the part of it that was being evaluated; empty: not known
  bool is_python = false;

  // "train.py:31", "program: main"
  [[nodiscard]] std::string name() const;
  friend bool operator==(const Place&, const Place&) = default;
};

struct StackLine {
  std::string where;  // "train.py:31", or the module where no line is known
  std::string function;
  std::string source;  // the line, as it was when the program ran; empty: not known
  bool is_python = false;
  bool is_own = false;  // the user's code, not a library

  [[nodiscard]] std::string name() const;
};

struct ResolvedStack {
  Place place;                   // of the innermost frame of the user's own code
  std::vector<StackLine> lines;  // all frames but those of the tracer and of CUDA, innermost first, native ones before Python's
  std::vector<std::string> native_names;
  bool is_of_main_thread = false;  // the Python part is what the main thread did meanwhile
};

// Of every stack of the process, by id. Reads the debug information of the program's own files, if they are still there.
std::map<std::uint32_t, ResolvedStack> resolve_stacks(const ProcessTrace& trace);

}  // namespace tutti::tracing
