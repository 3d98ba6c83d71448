// The event stream: per-thread buffers, switched on for a trace, one predicted branch when off.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/journal/event.h"

namespace tutti::journal {

namespace detail {
extern std::atomic<bool> recording;
void append(const Event& event) noexcept;
}  // namespace detail

inline bool is_recording() noexcept { return detail::recording.load(std::memory_order_relaxed); }

inline void record(const Event& event) noexcept {
  if (is_recording()) [[unlikely]]
    detail::append(event);
}

// Switching on clears what was recorded before.
void start() noexcept;
void stop() noexcept;

// Names for the lanes of a trace. The stream's name is copied.
void name_stream(StreamId stream, std::string name);
void name_this_thread(const char* name) noexcept;

struct ThreadEvents {
  std::uint64_t thread = 0;  // the kernel's thread id
  std::string name;
  std::vector<Event> events;
  std::uint64_t dropped = 0;  // events beyond the bound of one thread
};

struct StreamName {
  StreamId stream;
  std::string name;
};

struct Recording {
  std::vector<ThreadEvents> threads;
  std::vector<StreamName> streams;
};

// A copy of what was recorded so far; may be taken while others record.
Recording snapshot();

}  // namespace tutti::journal
