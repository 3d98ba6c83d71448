#include "tutti/trace/recorder/recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "tutti/trace/recorder/ranges.h"

namespace tutti::tracing {

namespace {

constexpr std::uint64_t long_call = 20'000;                // ns: of what is usually a look-up
constexpr std::uint64_t longest_pause = 20'000'000;        // ns between two queries of one loop
constexpr std::uint32_t fewest_queries = 4;                // in a loop
constexpr std::uint32_t queries_before_stack = 2;          // allocators ask once in passing
constexpr std::uint64_t longest_before_sync = 50'000'000;  // ns from a copy to the wait for it

struct Loop {
  std::uint64_t handle = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t queries = 0;
  std::uint32_t stack = 0;
  std::uint32_t api = 0;
};

// What a thread is in the middle of. Plain data: nothing is run when the thread ends.
struct ThreadState {
  std::uint32_t id = 0;
  WaitBody pending{};
  CUpti_CallbackId function = 0;
  std::uint64_t last_end = 0;  // of a wait that was recorded
  CallArguments copy{};        // the last asynchronous one
  std::uint64_t copied_at = 0;
  Loop loop{};
};
thread_local constinit ThreadState here{};

std::uint32_t thread_id() noexcept {
  if (here.id == 0) {
    here.id = static_cast<std::uint32_t>(::gettid());
    std::array<char, 16> name{};
    if (::pthread_getname_np(::pthread_self(), name.data(), name.size()) == 0) {
      const IdHead head{here.id};
      recorder().output.append(RecordKind::thread, &head, sizeof head, name.data(), std::strlen(name.data()));
    }
  }
  return here.id;
}

void end_loop(bool is_done) {
  Loop& loop = here.loop;
  if (loop.queries >= fewest_queries) {
    WaitBody wait{};
    wait.begin = loop.begin;
    wait.end = is_done ? now() : loop.end;
    wait.stream = loop.handle;
    wait.api = loop.api;
    wait.stack = loop.stack;
    wait.calls = loop.queries + (is_done ? 1 : 0);
    wait.kind = WaitKind::poll;
    recorder().add(wait);
  }
  loop = {};
}

void note_query(Recorder& all, CUpti_CallbackId function, const CUpti_CallbackData& call) {
  if (call.callbackSite != CUPTI_API_EXIT) return;
  const auto result = *static_cast<const CUresult*>(call.functionReturnValue);
  const std::uint64_t handle = arguments_of(call.functionName, call).stream;
  const std::uint64_t time = now();
  Loop& loop = here.loop;
  if (loop.queries != 0 && (loop.handle != handle || time - loop.end > longest_pause)) end_loop(false);
  if (result != CUDA_ERROR_NOT_READY) {
    end_loop(true);
    return;
  }
  if (loop.queries == 0) {
    loop.handle = handle;
    loop.begin = time;
    loop.api = all.names[function];
  }
  if (++loop.queries == queries_before_stack) loop.stack = all.stacks.capture(function);
  loop.end = time;
}

// The wait for a copy that the thread has just enqueued on the same stream is that copy's.
void take_copy(WaitBody& wait) {
  if (here.copied_at == 0) return;
  const bool is_its_own = wait.kind == WaitKind::context || wait.kind == WaitKind::event || wait.stream == here.copy.stream;
  if (is_its_own && wait.begin - here.copied_at < longest_before_sync) {
    wait.bytes = here.copy.bytes;
    wait.direction = here.copy.direction;
    wait.memory = here.copy.memory;
  }
  here.copied_at = 0;
}

void begin_call(Recorder& all, CallKind kind, CUpti_CallbackId function, const CUpti_CallbackData& call) {
  if (here.loop.queries != 0) end_loop(false);
  WaitBody& wait = here.pending;
  const CallArguments with = arguments_of(call.functionName, call);
  wait = {};
  wait.kind = all.classes[function].wait;
  wait.api = all.names[function];
  wait.stream = with.stream;
  wait.bytes = with.bytes;
  wait.direction = with.direction;
  wait.memory = with.memory;
  wait.correlation = call.correlationId;
  wait.calls = 1;
  here.function = function;
  const bool is_async_copy = kind == CallKind::async_copy;
  const bool may_wait = kind == CallKind::wait || kind == CallKind::always || kind == CallKind::host_callback ||
                        (kind == CallKind::copy && with.direction != CopyDirection::between_devices) ||
                        (is_async_copy && with.memory == HostMemory::pageable) ||
                        (kind == CallKind::fill && with.memory != HostMemory::none);
  // Before the wait: while the device works, this takes no time of the program's.
  if (may_wait) wait.stack = all.stacks.capture(with.bytes * Recorder::most_functions + function);
  wait.begin = now();
  if (kind == CallKind::wait) take_copy(wait);
  if (!may_wait && kind != CallKind::if_long) here.function = 0;
  if (is_async_copy) {
    here.copy = with;
    here.copied_at = wait.begin;
  }
}

void end_call(Recorder& all, CallKind kind, CUpti_CallbackId function, const CUpti_CallbackData& call) {
  if (here.function != function) return;
  here.function = 0;
  WaitBody& wait = here.pending;
  wait.end = now();
  wait.result = *static_cast<const CUresult*>(call.functionReturnValue);
  if (kind == CallKind::if_long) {
    if (wait.end - wait.begin < long_call) return;
    wait.stack = all.stacks.capture(function);
  }
  all.add(wait);
}

void on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId function, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || function >= Recorder::most_functions) return;
  Recorder& all = recorder();
  if (!all.output.is_open()) return;
  const int before = errno;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const CallKind kind = all.classes[function].call;
  try {
    if (kind == CallKind::query) {
      note_query(all, function, call);
    } else if (call.callbackSite == CUPTI_API_ENTER) {
      begin_call(all, kind, function, call);
    } else {
      end_call(all, kind, function, call);
    }
  } catch (...) {
    ++all.unkept;  // no memory for the record: the program goes on
  }
  errno = before;
}

void on_passage(const char* reason, const char* file, std::uint32_t line, const char* function, std::uint64_t begin,
                std::uint64_t end) {
  Recorder& all = recorder();
  // What blocked inside by a call into the driver has been told already.
  if (!all.output.is_open() || here.last_end >= begin) return;
  try {
    WaitBody wait{};
    wait.begin = begin;
    wait.end = end;
    wait.api = all.output.text(reason);
    wait.stack = all.stacks.at_line(file, line, function);
    wait.calls = 1;
    wait.kind = WaitKind::door;
    all.add(wait);
  } catch (...) {
    ++all.unkept;
  }
}

}  // namespace

void Recorder::listen_at_door() {
  using Listener = std::atomic<decltype(&on_passage)>;
  if (auto* const door = static_cast<Listener*>(::dlsym(RTLD_DEFAULT, "tutti_trace_passage"))) *door = &on_passage;
}

std::uint64_t now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(time.tv_nsec);
}

Recorder& recorder() {
  static Recorder& instance = *new Recorder;
  return instance;
}

void Recorder::add(WaitBody wait) {
  wait.thread = thread_id();
  here.last_end = wait.end;
  wait.range = output.text(current_ranges());
  ++seen;
  if (wait.kind == WaitKind::host_callback) ++host_callbacks;
  if (!output.append(RecordKind::wait, wait)) ++unkept;
}

void Recorder::add_sleep(std::uint64_t begin, std::uint64_t end, std::uint64_t caller) {
  WaitBody wait{};
  wait.begin = begin;
  wait.end = end;
  wait.api = output.text("cuLaunchHostFunc");
  wait.stack = stacks.capture(caller);
  wait.calls = 1;
  wait.kind = WaitKind::sleep;
  add(wait);
}

bool is_in_call() noexcept { return here.function != 0; }

std::string Recorder::subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  std::string holder;
  if (cupti.subscribe_by_name != nullptr) {
    std::array<char, 256> name{};
    SubscriberParams with{sizeof with, "tutti trace", name.data(), name.size()};
    result = cupti.subscribe_by_name(&subscriber, on_call, nullptr, &with);
    holder = name.data();
  } else {
    result = cupti.subscribe(&subscriber, on_call, nullptr);
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return (holder.empty() ? std::string("another profiler, of which CUPTI before CUDA 13 tells no name,") : "'" + holder + "'") +
           " holds CUPTI, which serves one at a time";
  }
  if (result != CUPTI_SUCCESS) return cupti.path + " refused: " + cupti.describe(result);

  int enabled = 0;
  int unnamed = 0;
  for (CUpti_CallbackId function = 1; function < most_functions && unnamed < 64; ++function) {
    const char* name = nullptr;
    if (cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, function, &name) != CUPTI_SUCCESS || name == nullptr) {
      ++unnamed;
      continue;
    }
    unnamed = 0;
    const CallClass found = class_of(name);
    if (found.call == CallKind::other) continue;
    classes[function] = found;
    names[function] = output.text(name);
    if (cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, function) == CUPTI_SUCCESS) ++enabled;
  }
  return enabled == 0 ? cupti.path + " names no function of the driver" : "";
}

}  // namespace tutti::tracing
