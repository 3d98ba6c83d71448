// Medians of both sides, taken in turn, and the lines `run` joins: "side.name value unit".
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu {

using Clock = std::chrono::steady_clock;

inline double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

inline void print(const char* side, const std::string& name, double value, const char* unit) {
  std::printf("%s.%s %.6g %s\n", side, name.c_str(), value, unit);
  std::fflush(stdout);
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// Each side returns one sample; the first ones are for warming up.
template <class Bare, class Ours>
void pair(const std::string& name, const char* unit, int samples, Bare&& bare, Ours&& ours) {
  std::vector<double> floor;
  std::vector<double> mine;
  const int warm_up = samples / 10 + 1;
  for (int i = 0; i < samples + warm_up; ++i) {
    const double theirs = bare();
    const double own = ours();
    if (i < warm_up) continue;
    floor.push_back(theirs);
    mine.push_back(own);
  }
  print("bare", name, median(floor), unit);
  print("tutti", name, median(mine), unit);
}

// Microseconds per call, the clock read around all of them.
template <class F>
double per_call(int calls, F&& body) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) body(i);
  return microseconds_since(start) / calls;
}

// A group of rows that fails says so and lets the others go on; false then.
template <class F>
bool attempt(const char* what, F&& body) {
  try {
    body();
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_benchmark: %s: %s\n", what, error.what());
    return false;
  }
}

// Each prints its rows; false: some of them failed.
bool measure_host_side(unsigned long long seed);
bool measure_throughput(unsigned long long seed);
bool measure_steps(unsigned long long seed);
bool measure_graphs(unsigned long long seed);
// With TUTTI_FUSION=off: what a kernel of a graph takes.
bool measure_small_ops(unsigned long long seed);

}  // namespace gpu
