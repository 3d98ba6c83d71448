// A recording as lanes: one per host thread and per stream, with every sync tied to the work it waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/diag/sync_report.h"

namespace tutti::detail {

struct BarRef {
  std::size_t lane;
  std::size_t bar;
};

struct Bar {
  const journal::Event* event;            // of the report's recording
  std::size_t row = 0;                    // bars of one row do not overlap
  std::optional<std::size_t> site = {};   // a sync's place among the report's sites
  std::optional<BarRef> waited_for = {};  // the work whose end a sync waited for, if it was recorded
};

struct Lane {
  bool is_stream = false;
  std::uint64_t id = 0;  // the stream's, or the kernel's thread id
  std::string name = {};
  std::size_t rows = 0;
  std::vector<Bar> bars = {};  // by begin
};

struct Lanes {
  std::vector<Lane> lanes;  // threads, then streams; those with bars only
  Nanoseconds begin = 0;    // of the first bar
  Nanoseconds end = 0;      // of the last to end
  std::uint64_t dropped = 0;
};

// Work, its handing over, syncs, named scopes and the parts of collectives. Memory and placement are left to the Chrome trace.
Lanes lay_out(const SyncReport& report);

}  // namespace tutti::detail
