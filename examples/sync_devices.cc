// The example of *sync_devices*: how long a product takes, with the sync and without.
#include <chrono>

#include "gpus.h"

namespace tt = tutti;
using Clock = std::chrono::steady_clock;

int main() {
  simulate_gpus_where_there_is_none();
  const tt::DeviceScope on("/GPU:0");
  const tt::Tensor x = tt::normal({2048, 2048});
  tt::Tensor y = tt::matmul(x, x);  // warm-up
  tt::sync_devices();               // blocks until the warm-up has completed

  const Clock::time_point start = Clock::now();
  y = tt::matmul(x, x);
  const std::chrono::duration<double> too_small = Clock::now() - start;  // it may still be running
  tt::sync_devices();                                                    // blocks until the product has completed
  const std::chrono::duration<double> taken = Clock::now() - start;
  std::cout << "Time taken: " << taken.count() << " s\n";
  std::cout << "Without the sync it would have said: " << too_small.count() << " s\n";
  return too_small < taken ? 0 : 1;
}
