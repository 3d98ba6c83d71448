// The first example of *torch.cuda.synchronize*: how long does a product take? Without a sync the clock stops when the work has
// been enqueued; with one, when it is done; bench() tells host and device apart.
#include <chrono>

#include "../gpus.h"

namespace tt = tutti;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int main() {
  simulate_gpus_where_there_is_none();
  const tt::DeviceScope on("/GPU:0");
  const tt::Tensor x = tt::normal({1024, 1024});
  tt::matmul(x, x).sync({.intent = tt::Intent::measure});  // warm-up

  Clock::time_point start = Clock::now();
  tt::Tensor y = tt::matmul(x, x);
  const double enqueued = milliseconds_since(start);
  tt::synchronize("GPU:0", {.intent = tt::Intent::measure});

  start = Clock::now();
  y = tt::matmul(x, x);
  tt::synchronize("GPU:0", {.intent = tt::Intent::measure});
  const double done = milliseconds_since(start);

  std::cout << "without the sync: " << enqueued << " ms, which is the time to enqueue it\n";
  std::cout << "with the sync:    " << done << " ms\n";
  std::cout << tt::bench([&] { y = tt::matmul(x, x); }, {.samples = 5, .calls_per_sample = 5}).to_string();
  return enqueued < done ? 0 : 1;
}
