// Timing a piece of tensor code: what the host pays to enqueue it, what the device takes, and both together.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "tutti/base/site.h"

namespace tutti {

struct BenchOptions {
  int warm_up = 10;  // calls before anything is timed
  int samples = 31;
  int calls_per_sample = 50;     // back to back, so that the queue is full
  std::string_view device = {};  // whose stream is timed; empty: the one an op would run on
};

// Nanoseconds per call.
struct BenchTimes {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

struct BenchResult {
  BenchTimes host_enqueue;  // until the calls have returned
  BenchTimes device;        // from the first to the last on the device's stream
  BenchTimes end_to_end;    // until the host has seen the end
  int samples = 0;
  int calls_per_sample = 0;
  double syncs_per_call = 0;  // demand syncs the function made itself: they are in all three times

  // Three lines and, if the function syncs, a fourth that says so.
  [[nodiscard]] std::string to_string() const;
};

BenchResult bench(const std::function<void()>& function, const BenchOptions& options = {}, Site site = {});

}  // namespace tutti
