#include "tutti/journal/journal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tutti::journal {

namespace detail {
std::atomic<bool> recording{false};
}  // namespace detail

namespace {

// One thread's buffer is bounded so a forgotten trace cannot eat the machine: 2^20 events are about 80 MiB.
constexpr std::size_t most_events_per_thread = std::size_t{1} << 20U;

struct ThreadBuffer {
  std::mutex mutex;  // taken by its own thread per event and by a snapshot: short and almost never contended
  std::uint64_t thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  std::string name;
  std::deque<Event> events;
  std::uint64_t dropped = 0;
};

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadBuffer>> buffers;  // a buffer outlives its thread: its events still count
  std::map<std::uint32_t, std::string> streams;
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

// A plain pointer: what happens while the process exits is recorded after the main thread's other locals are gone.
ThreadBuffer& buffer() {
  static thread_local ThreadBuffer* mine = nullptr;
  if (mine == nullptr) {
    auto made = std::make_unique<ThreadBuffer>();
    const std::lock_guard lock(registry().mutex);
    mine = registry().buffers.emplace_back(std::move(made)).get();
  }
  return *mine;
}

}  // namespace

void detail::append(const Event& event) noexcept {
  try {
    ThreadBuffer& mine = buffer();
    const std::lock_guard lock(mine.mutex);
    if (mine.events.size() < most_events_per_thread) {
      mine.events.push_back(event);
    } else {
      ++mine.dropped;
    }
  } catch (...) {  // out of memory: a trace never takes the program down, the export says the trace is cut
    recording.store(false, std::memory_order_relaxed);
  }
}

void start() noexcept {
  const std::lock_guard lock(registry().mutex);
  for (const auto& thread : registry().buffers) {
    const std::lock_guard inner(thread->mutex);
    thread->events.clear();
    thread->dropped = 0;
  }
  detail::recording.store(true, std::memory_order_relaxed);
}

void stop() noexcept { detail::recording.store(false, std::memory_order_relaxed); }

void name_stream(StreamId stream, std::string name) {
  const std::lock_guard lock(registry().mutex);
  registry().streams[index_of(stream)] = std::move(name);
}

void name_this_thread(const char* name) noexcept {
  ThreadBuffer& mine = buffer();
  const std::lock_guard lock(mine.mutex);
  mine.name = name;
}

Recording snapshot() {
  Recording out;
  const std::lock_guard lock(registry().mutex);
  for (const auto& thread : registry().buffers) {
    const std::lock_guard inner(thread->mutex);
    if (thread->events.empty()) continue;
    out.threads.push_back({thread->thread, thread->name, {thread->events.begin(), thread->events.end()}, thread->dropped});
  }
  for (const auto& [id, name] : registry().streams) out.streams.push_back({StreamId{id}, name});
  return out;
}

}  // namespace tutti::journal
