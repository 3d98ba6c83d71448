// The file a traced process leaves behind: what its records are made of, for the recorder that writes them and the reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::tracing {

// A file is a FileHead and then records, each a RecordHead with its body behind it, appended whole and never changed. All numbers
// are little-endian; times are those of CLOCK_MONOTONIC in nanoseconds. What a record refers to by id stands before it. A reader
// skips kinds it does not know.
inline constexpr std::array<char, 8> file_magic{'t', 'u', 't', 't', 'i', 't', 'r', '\n'};
inline constexpr std::uint32_t file_version = 1;
inline constexpr std::uint32_t most_record_bytes = 1U << 20;
inline constexpr std::uint64_t most_file_bytes = 256ULL << 20;  // then only notes and the end are written
inline constexpr const char* file_suffix = ".tutti-trace";

// How the command tells the recorder what to record and where: "waits:/folder", or "work:/folder" for what the GPU does, too. A
// smaller bound on the file, in KiB, may follow what is recorded: "waits,64:/folder".
inline constexpr const char* recorder_variable = "TUTTI_TRACE_RECORDER";

// Begins the note of a process in which nothing could be listened to.
inline constexpr const char* untraced = "untraced: ";
// The note of a file that had no room for a record.
inline constexpr const char* bound_reached = "its file has reached its bound: what came later is missing";

struct FileHead {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t bytes;  // of this head: records begin behind it
};

enum class RecordKind : std::uint16_t {
  process = 1,
  text,          // IdHead, then its characters
  module,        // ModuleBody
  python_frame,  // PythonFrameBody
  native_frame,  // NativeFrameBody
  stack,         // StackHead, then the ids of its frames: Python's, then native ones, each innermost first
  thread,        // IdHead with the kernel's thread id, then its name
  wait,          // WaitBody
  note,          // characters: what could not be recorded, and why
  work,          // WorkBody, any number
  launch,        // LaunchBody, any number
  end,           // EndBody, once, where the process came to its end by itself
};

struct RecordHead {
  std::uint32_t bytes;  // of the body
  RecordKind kind;
  std::uint16_t unused;
  std::uint32_t check;  // check_of() the body
};

struct ProcessBody {  // then its command line, words separated by NUL
  std::uint64_t begin;
  std::uint64_t realtime;  // at the same moment, since 1970
  std::uint32_t pid;
  std::uint32_t parent;
  std::uint32_t cupti_version;
  std::uint32_t most_kib;  // the bound on the file; 0: most_file_bytes
  std::uint32_t python;    // text: "3.12.3"; 0: not a Python program
  std::uint32_t records_work;
};

struct IdHead {
  std::uint32_t id;  // from 1; 0 stands for nothing
};

struct ModuleBody {
  std::uint32_t id;
  std::uint32_t path;   // text
  std::uint64_t begin;  // what is added to the addresses of its file
  std::array<std::uint8_t, 20> build_id;
  std::uint32_t build_id_bytes;
};

struct PythonFrameBody {
  std::uint32_t id;
  std::uint32_t file;      // text
  std::uint32_t function;  // text
  std::uint32_t line;
  std::uint32_t end_line;
  std::uint32_t column;      // from 1, in bytes of UTF-8; 0: not known
  std::uint32_t end_column;  // behind the last
  std::uint32_t source;      // text of the lines, as they were; 0: not to be read
};

struct NativeFrameBody {
  std::uint32_t id;
  std::uint32_t module;  // 0: none
  std::uint64_t offset;  // of the return address from the module's begin
  std::uint32_t symbol;  // text: the exported function around it; 0: none
  std::uint32_t unused;
};

enum StackFlag : std::uint16_t {
  python_of_main_thread = 1,  // the thread itself runs no Python: these are the main thread's frames at that moment
  python_unreadable = 2,
};

struct StackHead {
  std::uint32_t id;
  std::uint16_t flags;
  std::uint16_t python;  // how many of each
  std::uint16_t native;
  std::uint16_t unused;
};

enum class WaitKind : std::uint8_t {
  stream = 1,
  event,
  context,
  poll,           // a loop of queries
  copy,           // synchronous
  staging,        // an asynchronous copy from or to pageable memory
  fill,           // a synchronous memset of host memory
  allocation,     // of device memory, and its mapping
  release,        // of device memory
  host_memory,    // pinned: made, freed, registered
  loading,        // of modules and functions, setting up a context
  host_callback,  // no wait: a function to be called when a stream gets there, as JAX's waits are ended
  door,           // tutti's own
  sleep,          // of a thread that a host callback woke, or another thread that one had woken
  resource,       // contexts, streams, events, graphs given back; memory of other processes and devices, graphics, made reachable
};

enum class CopyDirection : std::uint8_t { none, to_device, to_host, between_devices, on_host, any };
enum class HostMemory : std::uint8_t { none, pinned, pageable };

struct WaitBody {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t stream;  // the driver's handle, or an event's; 0: the default stream or none
  std::uint64_t bytes;   // copied, by this call or by the one before it that it waits for
  std::uint32_t api;     // text
  std::uint32_t thread;  // the kernel's id
  std::uint32_t stack;
  std::uint32_t correlation;
  std::uint32_t calls;  // queries of a loop; else 1
  std::int32_t result;
  WaitKind kind;
  CopyDirection direction;  // of that copy
  HostMemory memory;        // its host side
  std::uint8_t unused;
  std::uint32_t range;  // text: the NVTX ranges the thread was in, outermost first; 0: none
};

enum class WorkKind : std::uint8_t { kernel = 1, copy, fill };

struct WorkBody {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint32_t name;  // text
  std::uint32_t correlation;
  std::uint32_t stream;  // CUPTI's number
  std::uint16_t device;
  WorkKind kind;
  std::uint8_t unused;
};

struct LaunchBody {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t correlation;
  std::uint32_t thread;
};

struct EndBody {
  std::uint64_t end;
  std::uint64_t waits;   // seen
  std::uint64_t unkept;  // of these, for which the file had no room
};

inline std::uint32_t check_of(RecordKind kind, const void* body, std::size_t bytes) noexcept {
  std::uint32_t hash = (2166136261U ^ static_cast<std::uint32_t>(kind)) * 16777619U;
  const auto* at = static_cast<const unsigned char*>(body);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 16777619U;
  return hash;
}

static_assert(sizeof(FileHead) == 16 && sizeof(RecordHead) == 12 && sizeof(ProcessBody) == 40 && sizeof(ModuleBody) == 40);
static_assert(sizeof(PythonFrameBody) == 32 && sizeof(NativeFrameBody) == 24 && sizeof(StackHead) == 12);
static_assert(sizeof(WaitBody) == 64 && sizeof(WorkBody) == 40 && sizeof(LaunchBody) == 24 && sizeof(EndBody) == 24);

}  // namespace tutti::tracing
