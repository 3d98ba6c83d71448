// Makes files as the recorder would, record by record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/trace/format.h"

namespace tutti::tracing {

class TraceBytes {
 public:
  TraceBytes() { append(FileHead{file_magic, file_version, sizeof(FileHead)}); }

  TraceBytes& raw(RecordKind kind, std::string_view body) {
    append(RecordHead{static_cast<std::uint32_t>(body.size()), kind, 0, check_of(kind, body.data(), body.size())});
    bytes += body;
    return *this;
  }
  template <class Body>
  TraceBytes& record(RecordKind kind, const Body& body, std::string_view tail = "") {
    return raw(kind, text_of(body) + std::string(tail));
  }
  TraceBytes& named(RecordKind kind, std::uint32_t id, std::string_view name) { return record(kind, IdHead{id}, name); }
  TraceBytes& stack(StackHead head, const std::vector<std::uint32_t>& frames) {
    std::string ids;
    for (const std::uint32_t id : frames) ids += text_of(id);
    return record(RecordKind::stack, head, ids);
  }

  template <class Body>
  static std::string text_of(const Body& body) {
    return {reinterpret_cast<const char*>(&body), sizeof body};
  }

  std::string bytes;

 private:
  template <class Body>
  void append(const Body& body) {
    bytes += text_of(body);
  }
};

// A Python program whose thread 7 waits in `calls` calls of "read()" at train.py:3, a millisecond apart.
inline TraceBytes small_trace(std::uint64_t calls, std::string_view source = "    if loss.item() > 3:", std::uint32_t column = 8,
                              std::uint32_t end_column = 19) {
  TraceBytes out;
  out.named(RecordKind::text, 1, "3.12.3");
  out.record(RecordKind::process, ProcessBody{1000, 5, 42, 1, 130001, 0, 1, 0}, std::string_view("python3\0train.py\0", 17));
  out.named(RecordKind::text, 2, "cuStreamSynchronize").named(RecordKind::text, 3, "train.py").named(RecordKind::text, 4, "read");
  out.named(RecordKind::text, 5, source).named(RecordKind::text, 6, "/usr/lib/libtorch_cuda.so");
  out.named(RecordKind::text, 7, "_ZN2at6native4itemEv").named(RecordKind::thread, 7, "main");
  out.record(RecordKind::module, ModuleBody{1, 6, 0x1000, {}, 0});
  out.record(RecordKind::python_frame, PythonFrameBody{1, 3, 4, 3, 3, column, end_column, 5});
  out.record(RecordKind::native_frame, NativeFrameBody{2, 1, 0x22, 7, 0});
  out.stack(StackHead{1, 0, 1, 1, 0}, {1, 2});
  for (std::uint64_t i = 0; i < calls; ++i) {
    WaitBody wait{};
    wait.begin = 10'000 + i * 1'000'000;
    wait.end = wait.begin + 100'000;
    wait.bytes = 4;
    wait.api = 2;
    wait.thread = 7;
    wait.stack = 1;
    wait.calls = 1;
    wait.kind = WaitKind::stream;
    wait.direction = CopyDirection::to_host;
    wait.memory = HostMemory::pinned;
    out.record(RecordKind::wait, wait);
  }
  return out;
}

}  // namespace tutti::tracing
