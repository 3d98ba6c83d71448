// How the recorder of `tutti trace` hears of waits that are no calls into a driver: it looks this variable up where it finds it.
#pragma once

#include <atomic>
#include <cstdint>

// Called after a passage of the door that blocked, on the thread that did. Times are the monotonic clock's, in nanoseconds. Null:
// nobody listens.
using TuttiTracePassage = void(const char* reason, const char* file, std::uint32_t line, const char* function,
                               std::uint64_t begin, std::uint64_t end);
extern "C" std::atomic<TuttiTracePassage*> tutti_trace_passage;
