// Timing a piece of tensor code: what the host pays to enqueue it, what its devices take, and both together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tutti/base/site.h"
#include "tutti/hal/sync_reason.h"

namespace tutti {

struct BenchOptions {
  int warm_up = 10;  // calls before anything is timed
  int samples = 31;
  int calls_per_sample = 50;  // back to back, so that the queues are full
};

// Nanoseconds per call.
struct BenchTimes {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

// How long the host was blocked inside the function for a reason.
struct BenchWait {
  SyncReason reason = SyncReason::value_read;
  BenchTimes in_host_enqueue;
  BenchTimes in_end_to_end;
};

// Of all that the function set going: every stream of every device it submitted work to.
struct BenchResult {
  BenchTimes host_enqueue;  // until the first `enqueue_calls` calls of a sample have returned; its streams were empty before
  BenchTimes device;        // from the beginning to the end of the last work; ops that ran in the caller count too
  BenchTimes end_to_end;    // until the host has seen the end
  int samples = 0;
  int calls_per_sample = 0;
  int enqueue_calls = 0;  // as many of them as the streams' run-ahead took without making the host wait; at least one
  int devices = 0;        // that had work submitted
  int streams = 0;
  double syncs_per_call = 0;     // demand syncs the function made itself, whether or not they had to wait
  std::vector<BenchWait> waits;  // that the figures hold, longest first

  // Three lines, what they were made from, and a note for every wait that a figure holds.
  [[nodiscard]] std::string to_string() const;
};

BenchResult bench(const std::function<void()>& function, const BenchOptions& options = {}, Site site = {});

}  // namespace tutti
