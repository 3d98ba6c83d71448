#include "tutti/trace/trace_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t most_stacks_frames = 256;

template <class Body>
std::optional<Body> taken(std::string_view& bytes) {
  if (bytes.size() < sizeof(Body)) return std::nullopt;
  Body out;
  std::memcpy(&out, bytes.data(), sizeof out);
  bytes.remove_prefix(sizeof out);
  return out;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  while (!line.empty()) {
    const std::size_t end = line.find('\0');
    out.emplace_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return out;
}

template <class Body>
bool take_all(std::string_view body, std::vector<Body>& out) {
  while (const auto each = taken<Body>(body)) out.push_back(*each);
  return body.empty();
}

// Bodies of later versions may be longer: what is behind what is known here is skipped.
class Reader {
 public:
  explicit Reader(ProcessTrace& out) : out_(out) {}

  // False: the body is not what its kind says.
  bool take(RecordKind kind, std::string_view body) {
    switch (kind) {
      case RecordKind::process: return take_process(body);
      case RecordKind::text: return take_named(body, out_.texts);
      case RecordKind::thread: return take_named(body, out_.threads);
      case RecordKind::module: return take_module(body);
      case RecordKind::python_frame: return take_python_frame(body);
      case RecordKind::native_frame: return take_native_frame(body);
      case RecordKind::stack: return take_stack(body);
      case RecordKind::wait: return take_wait(body);
      case RecordKind::note: out_.notes.emplace_back(body); return true;
      case RecordKind::work: return take_all(body, out_.work);
      case RecordKind::launch: return take_all(body, out_.launches);
      case RecordKind::end: out_.end = taken<EndBody>(body); return out_.end.has_value();
    }
    return true;  // of a later version
  }

 private:
  bool take_process(std::string_view body) {
    const auto process = taken<ProcessBody>(body);
    if (!process) return false;
    out_.process = *process;
    out_.command = words_of(body);
    out_.python = out_.text_of(process->python);
    return true;
  }

  static bool take_named(std::string_view body, std::map<std::uint32_t, std::string>& into) {
    const auto head = taken<IdHead>(body);
    if (!head || head->id == 0) return false;
    into[head->id] = std::string(body);
    return true;
  }

  bool take_module(std::string_view body) {
    const auto module = taken<ModuleBody>(body);
    if (!module || module->id == 0 || module->build_id_bytes > module->build_id.size()) return false;
    const std::string id(module->build_id.begin(), module->build_id.begin() + module->build_id_bytes);
    out_.modules[module->id] = {out_.text_of(module->path), module->begin, id};
    return true;
  }

  bool take_python_frame(std::string_view body) {
    const auto frame = taken<PythonFrameBody>(body);
    if (!frame || frame->id == 0) return false;
    Frame& out = out_.frames[frame->id];
    out = {.is_python = true,
           .file = out_.text_of(frame->file),
           .function = out_.text_of(frame->function),
           .line = frame->line,
           .end_line = frame->end_line,
           .column = frame->column,
           .end_column = frame->end_column,
           .source = out_.text_of(frame->source)};
    return true;
  }

  bool take_native_frame(std::string_view body) {
    const auto frame = taken<NativeFrameBody>(body);
    if (!frame || frame->id == 0) return false;
    Frame& out = out_.frames[frame->id];
    out = {};
    out.function = out_.text_of(frame->symbol);
    out.module = out_.modules.contains(frame->module) ? frame->module : 0;
    out.offset = frame->offset;
    return true;
  }

  bool take_stack(std::string_view body) {
    const auto head = taken<StackHead>(body);
    if (!head || head->id == 0 || head->python > most_stacks_frames || head->native > most_stacks_frames) return false;
    Stack stack;
    stack.flags = head->flags;
    for (unsigned i = 0; i < static_cast<unsigned>(head->python) + head->native; ++i) {
      const auto id = taken<std::uint32_t>(body);
      if (!id || !out_.frames.contains(*id)) return false;
      (i < head->python ? stack.python : stack.native).push_back(*id);
    }
    out_.stacks[head->id] = std::move(stack);
    return true;
  }

  bool take_wait(std::string_view body) {
    const auto wait = taken<WaitBody>(body);
    if (!wait || wait->end < wait->begin) return false;
    out_.waits.push_back(*wait);
    return true;
  }

  ProcessTrace& out_;
};

}  // namespace

const std::string& ProcessTrace::text_of(std::uint32_t id) const {
  static const std::string none;
  const auto found = texts.find(id);
  return found == texts.end() ? none : found->second;
}

ProcessTrace read_trace(std::string_view bytes, const std::string& path) {
  ProcessTrace out;
  out.path = path;
  const std::size_t whole = bytes.size();
  const auto head = taken<FileHead>(bytes);
  if (!head || head->magic != file_magic)
    throw InvalidArgument(text("'", printable(path), "' is no trace: a file that `tutti trace` has recorded was expected"),
                          Site{});
  if (head->version != file_version || head->bytes != sizeof(FileHead)) {
    throw InvalidArgument(text("'", printable(path), "' is a trace of version ", head->version, "; this tutti reads version ",
                               file_version, ": read it with the one that recorded it"),
                          Site{});
  }
  Reader reader(out);
  while (!bytes.empty()) {
    const std::size_t at = whole - bytes.size();
    const auto record = taken<RecordHead>(bytes);
    if (!record || record->bytes > bytes.size()) {
      out.damage = text("it breaks off in the record at byte ", at, " of ", whole);
      break;
    }
    const std::string_view body = bytes.substr(0, record->bytes);
    bytes.remove_prefix(record->bytes);
    if (record->bytes > most_record_bytes || check_of(record->kind, body.data(), body.size()) != record->check ||
        !reader.take(record->kind, body)) {
      out.damage = text("the record at byte ", at, " of ", whole, " is damaged; what follows it was not read");
      break;
    }
  }
  return out;
}

namespace {

ProcessTrace read_file(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument(text("'", printable(path.string()), "' ", why), Site{});
  };
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) refuse("cannot be read");
  if (size > most_file_bytes) refuse(text("is no trace: no recorder writes ", human_bytes(size)));
  std::string bytes(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) refuse("cannot be read");
  return read_trace(bytes, path.string());
}

}  // namespace

Traces read_traces(const std::string& folder) {
  Traces out;
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_regular_file(folder, error)) paths.emplace_back(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == file_suffix) paths.push_back(entry.path());
  }
  if (paths.empty()) {
    throw InvalidArgument(text("there is no trace in '", printable(folder),
                               "': ", error ? error.message() : text("no file there ends with ", file_suffix),
                               "; `tutti trace -o FOLDER -- PROGRAM` makes one"),
                          Site{});
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    try {
      out.processes.push_back(read_file(path));
    } catch (const InvalidArgument& refused) {
      out.unread.push_back(refused.message());
    }
  }
  if (out.processes.empty()) {
    const std::size_t others = out.unread.size() - 1;
    throw InvalidArgument(others == 0 ? out.unread[0] : text(out.unread[0], "; nor can any other trace there be read"), Site{});
  }
  std::stable_sort(out.processes.begin(), out.processes.end(),
                   [](const ProcessTrace& a, const ProcessTrace& b) { return a.process.begin < b.process.begin; });
  return out;
}

}  // namespace tutti::tracing
