// Where the waits come from, as a flame graph shows it: their stacks, merged, with what each frame waited and cost the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

enum class FlameKind : std::uint8_t {
  all,
  own,
  library,
  demand,
  flow
};  // the last two are waits, of the program's and the driver's

struct FlameFrame {
  FlameKind kind{};
  std::string function;  // or what a wait is: "copy to the host, cuStreamSynchronize"
  std::string where;     // "train.py:31"; a module; empty: a wait
  std::string source;    // the line; empty: not known
};

// With all that is inside of it.
struct Flame {
  std::size_t frame = 0;
  std::size_t parent = 0;
  std::uint64_t waits = 0;  // after the warm-up
  std::uint64_t time = 0;
  std::uint64_t warm_up_waits = 0;
  std::uint64_t warm_up_time = 0;
  std::uint64_t idle = 0;
  std::int64_t site = -1;  // of a wait
};

struct Flames {
  std::vector<FlameFrame> frames;
  std::vector<Flame> tree;   // the first holds all; a parent comes before what is inside of it
  std::size_t left_out = 0;  // flames that were too many, of those that hold least
};

// Python frames, outermost first, or native ones of a stack without any; then the wait itself.
Flames flames_of(const TraceReport& report, std::size_t most = 20'000);

}  // namespace tutti::tracing
