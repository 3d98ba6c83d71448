#include "tutti/trace/recorder/stacks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tutti/trace/recorder/native_stack.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t most_python = 64;
constexpr std::size_t most_native = 48;
constexpr std::uint32_t times_until_habit = 8;
constexpr std::uint32_t most_source_lines = 8;
constexpr std::size_t most_source = 2000;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 31U);
}

}  // namespace

std::uint32_t Stacks::capture(std::uint64_t call) {
  std::array<PythonFrame, most_python> python;
  std::array<std::uintptr_t, most_native> native;
  std::uint16_t flags = 0;
  std::size_t python_count = python_.walk(python);
  std::uint64_t line = mixed(call, python_count);
  for (std::size_t i = 0; i < python_count; ++i) line = mixed(line, python[i].identity);
  if (python_count != 0) {
    const std::lock_guard lock(mutex_);
    const auto habit = habits_.find(line);
    if (habit != habits_.end() && habit->second.times >= times_until_habit) return habit->second.stack;
  }
  const bool runs_python = python_count != 0;
  const std::size_t native_count = walk_native(native, runs_python ? &python_ : nullptr);
  if (!runs_python) {
    python_count = python_.walk_main(python);
    if (python_count != 0) flags |= python_of_main_thread;
  }
  if (!python_.why_not().empty()) flags |= python_unreadable;
  std::uint64_t hash = mixed(flags, python_count);
  for (std::size_t i = 0; i < python_count; ++i) hash = mixed(hash, python[i].identity);
  for (std::size_t i = 0; i < native_count; ++i) hash = mixed(hash, native[i]);

  const std::lock_guard lock(mutex_);
  const auto note_habit = [&](std::uint32_t stack) {
    if (!runs_python) return stack;
    Habit& habit = habits_[line];
    habit.times = habit.stack == stack ? habit.times + 1 : 1;
    habit.stack = stack;
    return stack;
  };
  if (const auto known = stacks_.find(hash); known != stacks_.end()) return note_habit(known->second);
  if (python_.version().empty()) python_.find();  // a program may start an interpreter later
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < python_count; ++i) ids.push_back(python_frame(python[i]));
  for (std::size_t i = 0; i < native_count; ++i) ids.push_back(native_frame(native[i]));
  const std::uint32_t id = ++last_stack_;
  const StackHead head{id, flags, static_cast<std::uint16_t>(python_count), static_cast<std::uint16_t>(native_count), 0};
  stacks_.emplace(hash, id);
  output_.append(RecordKind::stack, &head, sizeof head, ids.data(), ids.size() * sizeof(std::uint32_t));
  return note_habit(id);
}

std::uint32_t Stacks::at_line(const char* file, std::uint32_t line, const char* function) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = lines_.try_emplace({file, line}, 0);
  if (!is_new) return found->second;
  const std::uint32_t frame = ++frames_;
  output_.append(RecordKind::python_frame, PythonFrameBody{frame, output_.text(file), output_.text(function), line, line, 0, 0,
                                                           source_of(file, line, line)});
  found->second = ++last_stack_;
  const StackHead head{found->second, 0, 1, 0, 0};
  output_.append(RecordKind::stack, &head, sizeof head, &frame, sizeof frame);
  return found->second;
}

std::uint32_t Stacks::python_frame(const PythonFrame& frame) {
  const auto [found, is_new] = python_frames_.try_emplace(frame.identity, 0);
  if (!is_new) return found->second;
  found->second = ++frames_;
  const PythonNames names = python_.describe(frame);
  const PythonPosition& at = names.position;
  output_.append(RecordKind::python_frame,
                 PythonFrameBody{found->second, output_.text(names.file), output_.text(names.function), at.line, at.end_line,
                                 at.column, at.end_column, source_of(names.file, at.line, at.end_line)});
  return found->second;
}

std::uint32_t Stacks::native_frame(std::uintptr_t address) {
  const auto [found, is_new] = native_frames_.try_emplace(address, 0);
  if (!is_new) return found->second;
  found->second = ++frames_;
  const NativeModule module = module_of(address);
  std::uint32_t id = 0;
  if (!module.path.empty()) {
    const auto [known, is_new_module] =
        modules_.try_emplace({module.path, module.begin}, static_cast<std::uint32_t>(modules_.size() + 1));
    id = known->second;
    if (is_new_module)
      output_.append(RecordKind::module,
                     ModuleBody{id, output_.text(module.path), module.begin, module.build_id, module.build_id_bytes});
  }
  output_.append(RecordKind::native_frame,
                 NativeFrameBody{found->second, id, address - module.begin, output_.text(module.symbol), 0});
  return found->second;
}

// As it is now: files change, and generated ones go.
std::uint32_t Stacks::source_of(const std::string& file, std::uint32_t line, std::uint32_t end_line) {
  if (line == 0 || file.empty() || file[0] == '<') return 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "re"), &std::fclose);
  if (!in) return 0;
  end_line = std::min(std::max(line, end_line), line + most_source_lines - 1);
  std::string text;
  std::array<char, 1000> part;  // of a line that may be longer
  for (std::uint32_t number = 1; number <= end_line && std::fgets(part.data(), part.size(), in.get()) != nullptr;) {
    const std::string_view read = part.data();
    if (number >= line && text.size() < most_source) text += read;
    if (read.ends_with('\n')) ++number;
  }
  while (text.ends_with('\n')) text.pop_back();
  return output_.text(text);
}

}  // namespace tutti::tracing
