#include "tutti/trace/places.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "tutti/base/text.h"
#include "tutti/diag/debug_info.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t most_symbol = 400;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Python's own library, what is installed beside it, and what torch.compile() writes.
bool is_library(const std::string& file) {
  constexpr std::array parts{"/site-packages/", "/dist-packages/", "/lib/python3",
                             "<frozen ",        "/torchinductor_", "<eval_with_key>"};
  return file.empty() ||
         std::any_of(parts.begin(), parts.end(), [&](const char* part) { return file.find(part) != std::string::npos; });
}

bool is_of_system(const std::string& path) { return path.starts_with("/usr/") || path.starts_with("/lib") || is_library(path); }

bool is_of_cuda(const std::string& module) {
  constexpr std::array names{"libtutti_trace", "libcupti", "libcuda.", "libcudart", "libcudadebugger", "libnvidia"};
  const std::string name = file_name(module);
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name.starts_with(each); });
}

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > 10 * most_symbol) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && name ? std::string(name.get()).substr(0, most_symbol) : symbol;
}

std::string hexadecimal(std::uint64_t offset) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), offset, 16).ptr;
  return "+0x" + std::string(digits.data(), end);
}

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

// "loss.item()" of "    if loss.item() > 3:"
std::string expression_of(const Frame& frame) {
  if (frame.column == 0 || frame.end_line != frame.line || frame.end_column <= frame.column) return "";
  if (frame.end_column - 1 > frame.source.size()) return "";
  return frame.source.substr(frame.column - 1, frame.end_column - frame.column);
}

// A statement in several lines is shown as one.
std::string statement_of(const std::string& source) {
  std::string out;
  for (std::size_t at = 0; at <= source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string part = trimmed(source.substr(at, end - at));
    if (!part.empty()) out += text(out.empty() ? "" : " ", part);
    at = end + 1;
  }
  return out;
}

std::string line_of_file(const std::string& file, std::uint32_t line) {
  std::ifstream in(file);
  std::string out;
  for (std::uint32_t number = 0; number < line && std::getline(in, out);) ++number;
  return in ? trimmed(out) : "";
}

class Resolver {
 public:
  explicit Resolver(const ProcessTrace& trace) : trace_(trace), debug_(program_files(trace)) {}

  ResolvedStack resolve(const Stack& stack) const {
    ResolvedStack out;
    out.is_of_main_thread = (stack.flags & python_of_main_thread) != 0;
    const Frame* own = nullptr;
    for (const std::uint32_t id : stack.native) add_native(trace_.frames.at(id), out);
    for (const std::uint32_t id : stack.python) {
      const Frame& frame = trace_.frames.at(id);
      const bool is_own = !is_library(frame.file);
      if (own == nullptr && is_own) own = &frame;
      out.lines.push_back({text(frame.file, ":", frame.line), frame.function, statement_of(frame.source), true, is_own});
    }
    if (out.place.line == 0 && out.place.function.empty()) name_by_address(stack, out.place);
    if (own == nullptr && !stack.python.empty()) own = &trace_.frames.at(stack.python.front());
    if (own != nullptr)
      out.place = {own->file, own->line, own->function, statement_of(own->source), expression_of(*own), own->is_python};
    return out;
  }

 private:
  // Without names, the outermost call of the module tells its places apart best: what is inside may be a library linked into it.
  void name_by_address(const Stack& stack, Place& place) const {
    for (const std::uint32_t id : stack.native) {
      const Frame& frame = trace_.frames.at(id);
      const auto module = trace_.modules.find(frame.module);
      if (module != trace_.modules.end() && file_name(module->second.path) == place.file)
        place.function = hexadecimal(frame.offset);
    }
  }

  static std::vector<detail::MappedFile> program_files(const ProcessTrace& trace) {
    std::vector<detail::MappedFile> out;
    for (const auto& [id, module] : trace.modules) {
      if (!is_of_system(module.path) && !is_of_cuda(module.path)) out.push_back({module.path, module.begin, module.build_id});
    }
    return out;
  }

  void add_native(const Frame& frame, ResolvedStack& out) const {
    const auto found = trace_.modules.find(frame.module);
    const Module module = found == trace_.modules.end() ? Module{} : found->second;
    if (is_of_cuda(module.path)) return;
    const detail::DebugName known = debug_.find(module.begin + frame.offset - 1);
    const std::string function = demangled(known.function.empty() ? frame.function : known.function);
    // The runtime may be linked into the program.
    if (function.starts_with("cuda") || function.starts_with("__cuda") || function.starts_with("libcudart_static")) return;
    if (!function.empty()) out.native_names.push_back(function);
    const std::string where = known.line != 0 ? text(known.file, ":", known.line) : file_name(module.path);
    out.lines.push_back({where, function.empty() ? hexadecimal(frame.offset) : function, "", false, !is_of_system(module.path)});
    const bool is_better = out.place.file.empty() || (out.place.line == 0 && known.line != 0);
    if (!is_better) return;
    if (known.line != 0) {
      out.place = {known.file, known.line, function, line_of_file(known.file, known.line), "", false};
    } else if (!module.path.empty()) {
      out.place = {file_name(module.path), 0, function, "", "", false};
    }
  }

  const ProcessTrace& trace_;
  detail::DebugInfo debug_;
};

}  // namespace

std::string Place::name() const {
  if (line != 0) return text(file, ":", line);
  if (file.empty()) return "unknown place";
  return function.empty() ? file : text(file, ": ", function);
}

std::string StackLine::name() const { return text(where, " ", function); }

std::map<std::uint32_t, ResolvedStack> resolve_stacks(const ProcessTrace& trace) {
  const Resolver resolver(trace);
  std::map<std::uint32_t, ResolvedStack> out;
  for (const auto& [id, stack] : trace.stacks) out[id] = resolver.resolve(stack);
  return out;
}

}  // namespace tutti::tracing
