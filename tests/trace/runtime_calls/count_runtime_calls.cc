// Counts a program's calls of those functions of the CUDA runtime that hold its host up, and knows nothing of CUPTI: preloaded,
// it stands before libcudart.so. TUTTI_TEST_RUNTIME_CALLS names a folder, where PROCESS.calls holds a Counter for each function
// that was called; it is mapped, so that it is right however the process ends.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Counter {
  std::array<char, 56> function;
  std::uint64_t calls;
};
using Counters = std::array<Counter, 32>;

[[noreturn]] void give_up(const char* why, const char* about) {
  std::fprintf(stderr, "count_runtime_calls: %s: %s\n", why, about);
  std::abort();
}

Counters* open_counters() {
  const char* const folder = std::getenv("TUTTI_TEST_RUNTIME_CALLS");
  if (folder == nullptr) give_up("not set", "TUTTI_TEST_RUNTIME_CALLS");
  std::array<char, 4096> path{};
  std::snprintf(path.data(), path.size(), "%s/%d.calls", folder, ::getpid());
  const int file = ::open(path.data(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || ::ftruncate(file, sizeof(Counters)) != 0) give_up("cannot be made", path.data());
  void* const all = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all == MAP_FAILED) give_up("cannot be mapped", path.data());
  ::close(file);
  return static_cast<Counters*>(all);
}

Counter& counter_of(const char* function) {
  static Counters* const all = open_counters();
  static std::atomic<std::size_t> used{0};
  Counter& mine = (*all)[used++];
  std::strncpy(mine.function.data(), function, mine.function.size() - 1);
  return mine;
}

// Of the runtime, which the program may also have opened for itself alone.
void* find(const char* function) {
  void* found = ::dlsym(RTLD_NEXT, function);
  for (const char* library : {"libcudart.so.13", "libcudart.so.12"}) {
    void* const runtime = found == nullptr ? ::dlopen(library, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (runtime != nullptr) found = ::dlsym(runtime, function);
  }
  if (found == nullptr) give_up("no libcudart.so here has", function);
  return found;
}

template <std::size_t size>
struct Name {
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the text
  consteval Name(const char (&letters)[size]) { std::copy_n(letters, size, text); }
  char text[size]{};
};

template <Name name>
void add(std::uint64_t calls) {
  static Counter& mine = counter_of(name.text);
  std::atomic_ref(mine.calls).fetch_add(calls, std::memory_order_relaxed);
}

template <Name name, class... Arguments>
int call(Arguments... arguments) {
  static const auto real = reinterpret_cast<int (*)(Arguments...)>(find(name.text));
  return real(arguments...);
}

struct Queries {
  void* handle;
  std::uint64_t in_a_row;  // not ready
};
thread_local Queries queries{};

template <Name name, class... Arguments>
int counted(bool is_blocking, Arguments... arguments) {
  queries = {};
  if (is_blocking) add<name>(1);
  return call<name>(arguments...);
}

// Four or more in a row are a loop.
template <Name name>
int query(void* handle) {
  const int result = call<name>(handle);
  if (queries.handle != handle) queries = {handle, 0};
  if (result == 600) {  // cudaErrorNotReady
    if (++queries.in_a_row >= 4) add<name>(queries.in_a_row == 4 ? 4 : 1);
  } else {
    if (queries.in_a_row >= 4) add<name>(1);
    queries = {};
  }
  return result;
}

enum Memory : int { pageable, pinned, of_device };  // cudaMemoryType

int host_side(std::size_t bytes, int kind, const void* to, const void* from) {
  if (bytes == 0 || kind == 3) return of_device;  // cudaMemcpyDeviceToDevice
  alignas(8) std::array<int, 64> about_to{};      // larger than cudaPointerAttributes ever was; the type is the first of it
  alignas(8) std::array<int, 64> about_from{};
  call<"cudaPointerGetAttributes", void*>(about_to.data(), to);
  call<"cudaPointerGetAttributes", void*>(about_from.data(), from);
  return std::min(about_to[0], about_from[0]);
}

}  // namespace

extern "C" {

int cudaStreamSynchronize(void* stream) { return counted<"cudaStreamSynchronize">(true, stream); }
int cudaEventSynchronize(void* event) { return counted<"cudaEventSynchronize">(true, event); }
int cudaDeviceSynchronize() { return counted<"cudaDeviceSynchronize">(true); }
int cudaStreamQuery(void* stream) { return query<"cudaStreamQuery">(stream); }
int cudaEventQuery(void* event) { return query<"cudaEventQuery">(event); }
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return counted<"cudaMemcpy">(host_side(bytes, kind, to, from) <= pinned, to, from, bytes, kind);
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return counted<"cudaMemcpyAsync">(host_side(bytes, kind, to, from) == pageable, to, from, bytes, kind, stream);
}
int cudaMalloc(void** out, std::size_t bytes) { return counted<"cudaMalloc">(bytes != 0, out, bytes); }
int cudaFree(void* memory) { return counted<"cudaFree">(memory != nullptr, memory); }
int cudaHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  return counted<"cudaHostAlloc">(bytes != 0, out, bytes, flags);
}
int cudaMallocHost(void** out, std::size_t bytes) { return counted<"cudaMallocHost">(bytes != 0, out, bytes); }
int cudaFreeHost(void* memory) { return counted<"cudaFreeHost">(memory != nullptr, memory); }
int cudaHostRegister(void* at, std::size_t bytes, unsigned flags) { return counted<"cudaHostRegister">(true, at, bytes, flags); }
int cudaHostUnregister(void* at) { return counted<"cudaHostUnregister">(true, at); }
}
