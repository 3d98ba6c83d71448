// What one traced process left behind, read back: its waits with their stacks, and what the GPU did where that was recorded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/trace/format.h"

namespace tutti::tracing {

struct Module {
  std::string path;
  std::uint64_t begin = 0;
  std::string build_id;  // its bytes; empty: none
};

struct Frame {
  bool is_python = false;
  std::string file;
  std::string function;  // of a native frame: the exported one around it, as the linker knows it
  std::uint32_t line = 0;
  std::uint32_t end_line = 0;
  std::uint32_t column = 0;  // from 1; 0: not known
  std::uint32_t end_column = 0;
  std::string source;        // the lines, as they were when the program ran
  std::uint32_t module = 0;  // of a native frame; 0: none
  std::uint64_t offset = 0;
};

struct Stack {
  std::uint16_t flags = 0;
  std::vector<std::uint32_t> python;  // of `frames`, innermost first
  std::vector<std::uint32_t> native;
};

struct ProcessTrace {
  std::string path;  // of the file
  ProcessBody process{};
  std::vector<std::string> command;
  std::string python;  // version; empty: not a Python program
  std::map<std::uint32_t, std::string> texts;
  std::map<std::uint32_t, std::string> threads;
  std::map<std::uint32_t, Module> modules;
  std::map<std::uint32_t, Frame> frames;
  std::map<std::uint32_t, Stack> stacks;
  std::vector<WaitBody> waits;
  std::vector<WorkBody> work;
  std::vector<LaunchBody> launches;
  std::vector<std::string> notes;
  std::optional<EndBody> end;  // none: it was killed, or still ran
  std::string damage;          // what is wrong with the file from some place on; empty: nothing

  [[nodiscard]] const std::string& text_of(std::uint32_t id) const;
};

// Throws InvalidArgument where this is no trace, or one of another version. A file that breaks off is read up to there.
ProcessTrace read_trace(std::string_view bytes, const std::string& path);

struct Traces {
  std::vector<ProcessTrace> processes;  // by begin
  std::vector<std::string> unread;      // files that could not be read, and why: a sentence each
};

// All of a folder, or a file. Throws InvalidArgument where there is none, or none that can be read.
Traces read_traces(const std::string& folder);

}  // namespace tutti::tracing
