#include "tutti/trace/recorder/python_stack.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "tutti/trace/recorder/guarded_memory.h"

namespace tutti::tracing {

namespace {

constexpr int proofs_wanted = 4;
constexpr std::size_t type_of_object = 8;
constexpr std::size_t size_of_bytes = 16;
constexpr std::size_t bytes_begin = 32;
constexpr std::size_t length_of_string = 16;
constexpr std::size_t hash_of_string = 24;
constexpr std::size_t state_of_string = 32;
constexpr std::int64_t longest_string = 4096;
constexpr std::int64_t longest_table = 1 << 20;
constexpr std::size_t longest_end = 64;       // bytes of a string that tell it from others
constexpr std::uint8_t owned_by_c_stack = 3;  // a frame that stands for a call out of C

template <bool guarded, class T>
bool load(const char* from, T& to) noexcept {
  if constexpr (guarded) return read_guarded(from, to);
  std::memcpy(&to, from, sizeof to);
  return true;
}

template <bool guarded>
bool load(const char* from, void* to, std::size_t bytes) noexcept {
  if constexpr (guarded) return read_guarded(from, to, bytes);
  std::memcpy(to, from, bytes);
  return true;
}

// What a string's header says of it.
struct StringForm {
  unsigned width;  // bytes of a character
  bool is_compact;
  bool is_ascii;

  explicit StringForm(std::uint32_t state) noexcept
      : width((state >> 2U) & 7U), is_compact(((state >> 5U) & 1U) != 0), is_ascii(((state >> 6U) & 1U) != 0) {}
  [[nodiscard]] bool is_readable(std::int64_t length) const noexcept {
    return length > 0 && length <= longest_string && is_compact && (width == 1 || width == 2 || width == 4);
  }
};

struct Segment {
  std::uintptr_t inside;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

int find_segment(dl_phdr_info* info, std::size_t, void* data) {
  auto& wanted = *static_cast<Segment*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || wanted.inside < begin || wanted.inside >= begin + part.p_memsz) continue;
    wanted.begin = begin;
    wanted.end = begin + part.p_memsz;
    return 1;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | ((point >> shift) & 0x3fU)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0U | (point >> 6U));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0U | (point >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0U | ((point >> 18U) & 7U));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29U);
}

}  // namespace

bool PythonStack::find() {
  if (layout_ != nullptr) return true;
  if (!why_not_.empty()) return false;
  const auto tell_version = reinterpret_cast<const char* (*)()>(::dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  if (tell_version == nullptr) return false;
  const std::string_view told = tell_version();
  version_ = std::string(told.substr(0, told.find(' ')));
  int minor = 0;
  if (version_.starts_with("3.")) std::from_chars(version_.data() + 2, version_.data() + version_.size(), minor);
  const PythonLayout* layout = python_layout(minor);
  code_type_ = ::dlsym(RTLD_DEFAULT, "PyCode_Type");
  this_thread_ = reinterpret_cast<void* (*)()>(::dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  const bool has_lock = told.find("free-threading") == std::string_view::npos;
  int probe = 0;
  if (layout == nullptr || !has_lock || code_type_ == nullptr || this_thread_ == nullptr) {
    why_not_ = "this is Python " + version_ + (has_lock ? "" : " without its lock") +
               ", whose frames are not known (3.9 to 3.13 are): stacks are native only";
  } else if (!read_guarded(&minor, probe)) {
    why_not_ = "this system does not let a process read its own memory safely (process_vm_readv): stacks are native only";
  }
  // Also of an interpreter whose frames are not known: threads that wait for its lock are told by it.
  if (const void* loop = ::dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault")) {
    Segment segment{reinterpret_cast<std::uintptr_t>(loop)};
    ::dl_iterate_phdr(find_segment, &segment);
    begin_ = segment.begin;
    end_ = segment.end;
  }
  if (!why_not_.empty()) return false;
  layout_ = layout;
  return true;
}

// Its hash, if Python has asked for it; else its end, which is what generated names differ in.
template <bool guarded>
std::uint64_t PythonStack::string_identity(const char* string) const noexcept {
  std::int64_t length = 0;
  std::int64_t hash = -1;
  std::uint32_t state = 0;
  if (string == nullptr || !load<guarded>(string + length_of_string, length) || !load<guarded>(string + hash_of_string, hash))
    return 0;
  if (hash != -1) return static_cast<std::uint64_t>(hash);
  if (!load<guarded>(string + state_of_string, state)) return 0;
  const StringForm form(state);
  if (!form.is_readable(length)) return static_cast<std::uint64_t>(length);
  const std::size_t bytes = static_cast<std::size_t>(length) * form.width;
  const std::size_t end = std::min(bytes, longest_end);
  std::array<std::uint64_t, longest_end / sizeof(std::uint64_t)> words{};
  const char* const text = string + (form.is_ascii ? layout_->ascii_text : layout_->other_text);
  if (!load<guarded>(text + (bytes - end), words.data(), end)) return 0;
  std::uint64_t out = bytes;
  for (const std::uint64_t word : words) out = mixed(out, word);
  return out;
}

template <bool guarded>
std::size_t PythonStack::walk_frames(const char* thread, std::span<PythonFrame> out) const noexcept {
  const PythonLayout& in = *layout_;
  const char* frame = nullptr;
  if (!load<guarded>(thread + in.thread_frame, frame) || frame == nullptr) return 0;
  if (in.inner_frame != PythonLayout::none && !load<guarded>(frame + in.inner_frame, frame)) return 0;
  std::size_t count = 0;
  // A chain that another thread changes meanwhile may go in a circle.
  for (std::size_t steps = 0; frame != nullptr && count < out.size() && steps < 4 * out.size(); ++steps) {
    const char* const here = frame;
    if (!load<guarded>(here + in.previous, frame)) break;
    std::uint8_t owner = 0;
    if (in.owner != PythonLayout::none && (!load<guarded>(here + in.owner, owner) || owner == owned_by_c_stack)) continue;
    const char* code = nullptr;
    const void* type = nullptr;
    if (!load<guarded>(here + in.code, code) || code == nullptr || !load<guarded>(code + type_of_object, type)) break;
    if (type != code_type_) break;
    PythonFrame& found = out[count];
    found.code = code;
    if (in.code_begin != PythonLayout::none) {
      const char* instruction = nullptr;
      if (!load<guarded>(here + in.instruction, instruction)) break;
      found.at = instruction - (code + in.code_begin);
    } else {
      std::int32_t number = 0;
      if (!load<guarded>(here + in.instruction, number)) break;
      found.at = in.minor >= 10 ? 2 * number : number;
    }
    std::uint64_t hash = mixed(reinterpret_cast<std::uintptr_t>(code), static_cast<std::uint64_t>(found.at));
    // Generated code that is freed leaves its addresses to the next: what is there counts, too.
    for (const std::uint16_t field : {in.code_file, in.code_name}) {
      const char* string = nullptr;
      if (load<guarded>(code + field, string)) hash = mixed(hash, string_identity<guarded>(string));
    }
    const char* lines = nullptr;
    std::uint64_t length = 0;
    if (load<guarded>(code + in.code_lines, lines)) hash = mixed(hash, reinterpret_cast<std::uintptr_t>(lines));
    if (lines != nullptr && load<guarded>(lines + size_of_bytes, length)) hash = mixed(hash, length);
    std::uint32_t first_line = 0;
    if (load<guarded>(code + in.code_first_line, first_line)) hash = mixed(hash, first_line);
    found.identity = hash;
    ++count;
  }
  return count;
}

std::size_t PythonStack::walk(std::span<PythonFrame> out) noexcept {
  if (layout_ == nullptr) return 0;
  const auto* thread = static_cast<const char*>(this_thread_());
  if (thread == nullptr) return 0;
  if (main_thread_.load(std::memory_order_relaxed) == nullptr && ::gettid() == ::getpid()) main_thread_ = thread;
  if (proven_.load(std::memory_order_relaxed) >= proofs_wanted) return walk_frames<false>(thread, out);
  const std::size_t count = walk_frames<true>(thread, out);
  if (count != 0) ++proven_;
  return count;
}

std::size_t PythonStack::walk_main(std::span<PythonFrame> out) noexcept {
  const char* thread = main_thread_.load(std::memory_order_relaxed);
  if (layout_ == nullptr || thread == nullptr || ::gettid() == ::getpid()) return 0;
  return walk_frames<true>(thread, out);
}

std::string PythonStack::string_at(const void* object) const {
  const auto* string = static_cast<const char*>(object);
  std::int64_t length = 0;
  std::uint32_t state = 0;
  if (string == nullptr || !read_guarded(string + length_of_string, length) || !read_guarded(string + state_of_string, state))
    return {};
  const StringForm form(state);
  if (!form.is_readable(length)) return {};
  const unsigned width = form.width;
  std::vector<unsigned char> raw(static_cast<std::size_t>(length) * width);
  if (!read_guarded(string + (form.is_ascii ? layout_->ascii_text : layout_->other_text), raw.data(), raw.size())) return {};
  std::string out;
  for (std::size_t i = 0; i < raw.size(); i += width) {
    std::uint32_t point = 0;
    for (unsigned byte = 0; byte < width; ++byte) point |= static_cast<std::uint32_t>(raw[i + byte]) << (8 * byte);
    append_utf8(out, point);
  }
  return out;
}

PythonNames PythonStack::describe(const PythonFrame& frame) const {
  PythonNames out;
  if (layout_ == nullptr || frame.code == nullptr) return out;
  const auto* code = static_cast<const char*>(frame.code);
  const void* file = nullptr;
  const void* name = nullptr;
  const char* lines = nullptr;
  std::uint32_t first_line = 0;
  std::int64_t length = 0;
  if (!read_guarded(code + layout_->code_file, file) || !read_guarded(code + layout_->code_name, name) ||
      !read_guarded(code + layout_->code_lines, lines) || !read_guarded(code + layout_->code_first_line, first_line))
    return out;
  out.file = string_at(file);
  out.function = string_at(name);
  if (lines == nullptr || !read_guarded(lines + size_of_bytes, length) || length < 0 || length > longest_table) return out;
  std::vector<std::uint8_t> table(static_cast<std::size_t>(length));
  if (read_guarded(lines + bytes_begin, table.data(), table.size()))
    out.position = python_position(layout_->minor, table, first_line, frame.at);
  return out;
}

}  // namespace tutti::tracing
