// The Python frames of a thread, read from the interpreter's memory without its lock: a wait may hold locks that a thread which
// owns that lock waits for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tutti/trace/recorder/python_layout.h"
#include "tutti/trace/recorder/python_lines.h"

namespace tutti::tracing {

struct PythonFrame {
  const void* code = nullptr;
  std::int64_t at = 0;         // of the instruction, in bytes
  std::uint64_t identity = 0;  // also tells apart what came to lie at the same address
};

struct PythonNames {
  std::string file;
  std::string function;
  PythonPosition position;
};

class PythonStack {
 public:
  // Looks for an interpreter, until there is one. False: none, or one that is not known.
  bool find();
  [[nodiscard]] const std::string& version() const noexcept { return version_; }  // "3.12.3"; empty: no interpreter
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }  // empty: frames can be read
  // Where the interpreter's own instructions lie: native frames from there on say nothing.
  [[nodiscard]] bool is_in_interpreter(std::uintptr_t address) const noexcept { return address >= begin_ && address < end_; }

  // Of the calling thread, innermost first: how many.
  std::size_t walk(std::span<PythonFrame> out) noexcept;
  // Of the main thread, from another one: what it was doing at that moment.
  std::size_t walk_main(std::span<PythonFrame> out) noexcept;
  PythonNames describe(const PythonFrame& frame) const;

 private:
  template <bool guarded>
  std::size_t walk_frames(const char* thread, std::span<PythonFrame> out) const noexcept;
  [[nodiscard]] std::string string_at(const void* object) const;
  template <bool guarded>
  [[nodiscard]] std::uint64_t string_identity(const char* string) const noexcept;

  const PythonLayout* layout_ = nullptr;
  const void* code_type_ = nullptr;
  void* (*this_thread_)() = nullptr;
  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;
  std::atomic<const char*> main_thread_{nullptr};
  std::atomic<int> proven_{0};  // guarded walks that found what they should
  std::string version_;
  std::string why_not_;
};

}  // namespace tutti::tracing
