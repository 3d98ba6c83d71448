// Stacks of waits: each is described in the file when it is first seen, and is a number from then on.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "tutti/trace/recorder/output.h"
#include "tutti/trace/recorder/python_stack.h"

namespace tutti::tracing {

class Stacks {
 public:
  explicit Stacks(Output& output) : output_(output) {}

  // The calling thread's. `call`: what tells this call from others at the same line of Python; a line whose stack has been the
  // same a few times for the same call is not unwound again.
  std::uint32_t capture(std::uint64_t call);
  // A line that is known without a stack; Python's frames and it are told in the same way.
  std::uint32_t at_line(const char* file, std::uint32_t line, const char* function);
  [[nodiscard]] PythonStack& python() noexcept { return python_; }

 private:
  std::uint32_t python_frame(const PythonFrame& frame);
  std::uint32_t native_frame(std::uintptr_t address);
  std::uint32_t source_of(const std::string& file, std::uint32_t line, std::uint32_t end_line);

  struct Habit {
    std::uint32_t stack = 0;
    std::uint32_t times = 0;
  };

  Output& output_;
  PythonStack python_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint32_t> stacks_;  // by hash
  std::unordered_map<std::uint64_t, Habit> habits_;          // by line and call
  std::unordered_map<std::uint64_t, std::uint32_t> python_frames_;
  std::unordered_map<std::uintptr_t, std::uint32_t> native_frames_;
  std::map<std::pair<std::string, std::uintptr_t>, std::uint32_t> modules_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> lines_;  // stacks of these
  std::uint32_t frames_ = 0;
  std::uint32_t last_stack_ = 0;
};

}  // namespace tutti::tracing
