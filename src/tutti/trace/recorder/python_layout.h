// Where CPython keeps the frames of a thread, for the versions that are known.
#pragma once

#include <cstdint>

namespace tutti::tracing {

struct PythonLayout {
  static constexpr std::uint16_t none = 0xffff;

  int minor;
  std::uint16_t thread_frame;  // in a PyThreadState: the frame, or what points to it
  std::uint16_t inner_frame;   // in what that points to; none: it is the frame
  std::uint16_t previous;      // in a frame
  std::uint16_t code;
  std::uint16_t instruction;  // a pointer, or before 3.11 a number
  std::uint16_t owner;        // none before 3.12
  std::uint16_t code_file;    // in a code object
  std::uint16_t code_name;
  std::uint16_t code_lines;
  std::uint16_t code_first_line;
  std::uint16_t code_begin;  // of its instructions; none before 3.11
  std::uint16_t ascii_text;  // in a string: its characters, if all are ASCII
  std::uint16_t other_text;
};

// Of a standard build of Python 3.`minor`; null where it is not known.
const PythonLayout* python_layout(int minor) noexcept;

}  // namespace tutti::tracing
